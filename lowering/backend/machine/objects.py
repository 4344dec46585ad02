"""Object code as bytes: the names in an ELF object, and several objects as one blob.
Nothing here needs LLVM, whose own reader ends the process on bytes that are no object."""

import struct
from collections.abc import Iterator, Sequence

from xdsl_rlx.lowering.run_errors import CompileError

_BUNDLE = b"xdslrlx objects\0"
_COUNT = struct.Struct("<Q")
_HEADER = struct.Struct("<4sBB58x")
"""The length of an ELF header, with its magic number, class and byte order."""
_TABLE = struct.Struct("<Q10xHH")
"""Place, entry size and number of the section headers."""
_TABLE_AT = 40
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ELF_64, _LITTLE_ENDIAN = 2, 1
_SYMBOL_TABLE, _NO_BITS = 2, 8


def join(objects: Sequence[bytes]) -> bytes:
    """One blob of objects that are loaded together."""
    if len(objects) == 1:
        return objects[0]
    lengths = (_COUNT.pack(len(one)) for one in objects)
    return b"".join((_BUNDLE, _COUNT.pack(len(objects)), *lengths, *objects))


def split(code: bytes) -> list[bytes]:
    """The inverse of `join`; raises `CompileError` when bytes are missing."""
    if not code.startswith(_BUNDLE):
        return [code]
    place = len(_BUNDLE)
    try:
        (count,) = _COUNT.unpack_from(code, place)
        lengths = struct.unpack_from(f"<{min(count, len(code))}Q", code, place + _COUNT.size)
    except struct.error as error:
        raise CompileError(f"the object code is cut off: {error}") from error
    objects, place = list[bytes](), place + _COUNT.size * (1 + len(lengths))
    for length in lengths:
        objects.append(code[place : place + length])
        place += length
    if place != len(code):
        raise CompileError("the object code is cut off")
    return objects


def defined_symbols(code: bytes) -> list[str]:
    """Names that object code defines. Raises `CompileError` for bytes that are no ELF object."""
    return [name for one in split(code) for name, defined in _symbols(one) if defined]


def undefined_symbols(code: bytes) -> list[str]:
    """Names that object code needs from elsewhere. Raises `CompileError` for bytes that are no ELF object."""
    return [name for one in split(code) for name, defined in _symbols(one) if not defined]


def _symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    try:
        sections = _sections(code)
        for kind, start, size, link in sections:
            if kind != _SYMBOL_TABLE:
                continue
            _, first, length, _ = sections[link]
            names = code[first : first + length]
            for name, _, _, section, _, _ in _SYMBOL.iter_unpack(code[start : start + size]):
                if name:
                    yield names[name : names.index(b"\0", name)].decode(), bool(section)
    except (struct.error, IndexError, ValueError) as error:
        raise CompileError(f"the object code is not an ELF object: {error}") from error


def _sections(code: bytes) -> list[tuple[int, int, int, int]]:
    """Kind, place, size and linked section of each section, all of them inside the object."""
    if _HEADER.unpack_from(code) != (b"\x7fELF", _ELF_64, _LITTLE_ENDIAN):
        raise ValueError("wrong magic number, class or byte order")
    table, size, count = _TABLE.unpack_from(code, _TABLE_AT)
    if size != _SECTION.size:
        raise ValueError(f"section headers of {size} bytes")
    found = list[tuple[int, int, int, int]]()
    for index in range(count):
        _, kind, _, _, place, length, link, *_ = _SECTION.unpack_from(code, table + index * size)
        if kind != _NO_BITS and place + length > len(code):
            raise ValueError("a section lies beyond the end")
        found.append((kind, place, length, link))
    return found
