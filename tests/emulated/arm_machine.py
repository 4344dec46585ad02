"""An emulated processor of ARM with 64 bits that calls the functions of a shared library: `Machine`.

The C library is Python here, as far as the runtime of exported programs calls it from one thread.
"""

# unicorn has no type stubs
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from pathlib import Path

import unicorn
from unicorn import arm64_const as arm

_BASE, _STUBS, _STACK, _HEAP, _TLS = 0x10_0000, 0x1000_0000, 0x2000_0000, 0x3000_0000, 0x7000_0000
_STACK_BYTES = 1 << 20
_HEAP_BYTES = 64 << 20
_PAGE = 0x10000
_LOAD, _DYNAMIC, _DYNAMIC_SYMBOLS = 1, 2, 11
_RELATIVE, _GLOB_DAT, _JUMP_SLOT, _TLSDESC, _ABS64 = 1027, 1025, 1026, 1031, 257
_STRINGS, _SYMBOLS, _RELA, _RELA_BYTES, _PLT_BYTES, _PLT = 5, 6, 7, 8, 2, 23


class Machine:
    """A processor with one shared library, and memory that `allocate` gives."""

    def __init__(self, library: Path) -> None:
        self._image = library.read_bytes()
        self._cpu = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        for start, size in ((_STUBS, _PAGE), (_STACK, _STACK_BYTES), (_HEAP, _HEAP_BYTES), (_TLS, _PAGE)):
            self._cpu.mem_map(start, size)
        self._next = _HEAP
        self._stubs: dict[int, str] = {}
        self._numbers = count()
        # floating point is off until a system turns it on
        self._cpu.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
        self._cpu.reg_write(arm.UC_ARM64_REG_TPIDR_EL0, _TLS)
        self._load()
        self._cpu.hook_add(unicorn.UC_HOOK_CODE, self._stub, begin=_STUBS, end=_STUBS + _PAGE)

    def allocate(self, content: bytes, alignment: int = 64) -> int:
        """The address of new memory with this content."""
        self._next = -(-self._next // alignment) * alignment
        start = self._next
        self._next += max(len(content), 1)
        self._cpu.mem_write(start, content)
        return start

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory."""
        return bytes(self._cpu.mem_read(address, size))

    def text(self, address: int) -> str:
        """A C string."""
        found = bytearray()
        while (byte := self.read(address + len(found), 1)) != b"\0":
            found += byte
        return found.decode()

    def call(self, name: str, *arguments: int) -> int:
        """Call a function of the library with words."""
        for number, value in enumerate(arguments):
            self._cpu.reg_write(arm.UC_ARM64_REG_X0 + number, value)
        self._cpu.reg_write(arm.UC_ARM64_REG_SP, _STACK + _STACK_BYTES - 4096)
        end = self._stub_of("the end")
        self._cpu.reg_write(arm.UC_ARM64_REG_LR, end)
        self._cpu.emu_start(self._defined[name], end)
        return self._cpu.reg_read(arm.UC_ARM64_REG_X0)

    def _word(self, address: int) -> int:
        return struct.unpack("<Q", self.read(address, 8))[0]

    def _load(self) -> None:
        (headers,) = struct.unpack_from("<Q", self._image, 32)
        (number,) = struct.unpack_from("<H", self._image, 56)
        dynamic, top = 0, 0
        segments = [struct.unpack_from("<IIQQQQQQ", self._image, headers + 56 * n) for n in range(number)]
        for kind, _, _, place, _, _, size, _ in segments:
            top = max(top, place + size) if kind == _LOAD else top
            dynamic = _BASE + place if kind == _DYNAMIC else dynamic
        self._cpu.mem_map(_BASE, -(-top // _PAGE) * _PAGE)
        for kind, _, offset, place, _, stored, _, _ in segments:
            if kind == _LOAD:
                self._cpu.mem_write(_BASE + place, self._image[offset : offset + stored])
        tags: dict[int, int] = {}
        while (tag := self._word(dynamic)) != 0:
            tags[tag] = self._word(dynamic + 8)
            dynamic += 16
        self._symbols, self._strings = _BASE + tags[_SYMBOLS], _BASE + tags[_STRINGS]
        self._defined = self._functions()
        for table, size in ((_RELA, _RELA_BYTES), (_PLT, _PLT_BYTES)):
            for row in range(_BASE + tags[table], _BASE + tags[table] + tags[size], 24) if table in tags else ():
                self._relocate(*struct.unpack("<QQq", self.read(row, 24)))

    def _functions(self) -> dict[str, int]:
        """Addresses of what the library defines: how many symbols there are is in the table of sections."""
        found: dict[str, int] = {}
        (table,) = struct.unpack_from("<Q", self._image, 40)
        (number,) = struct.unpack_from("<H", self._image, 60)
        sections = [struct.unpack_from("<IIQQQQ", self._image, table + 64 * n) for n in range(number)]
        size = next(one[5] for one in sections if one[1] == _DYNAMIC_SYMBOLS)
        for row in range(self._symbols, self._symbols + size, 24):
            name, _, _, section, value, _ = struct.unpack("<IBBHQQ", self.read(row, 24))
            if section and value:
                found[self.text(self._strings + name)] = _BASE + value
        return found

    def _relocate(self, place: int, info: int, addend: int) -> None:
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        if kind == _TLSDESC:
            # a function that gives the offset of the variable, which is the word behind
            words = struct.pack("<QQ", self._stub_of("tls"), addend)
            self._cpu.mem_write(_BASE + place, words)
            return
        assert kind in (_RELATIVE, _GLOB_DAT, _JUMP_SLOT, _ABS64), kind
        value = _BASE + addend
        if kind != _RELATIVE:
            name = self.text(self._strings + struct.unpack("<I", self.read(self._symbols + 24 * symbol, 4))[0])
            value = self._defined.get(name) or self._stub_of(name)
        self._cpu.mem_write(_BASE + place, struct.pack("<Q", value))

    def _stub_of(self, name: str) -> int:
        for address, known in self._stubs.items():
            if known == name:
                return address
        address = _STUBS + 16 * next(self._numbers)
        # ret
        self._cpu.mem_write(address, bytes.fromhex("c0035fd6"))
        self._stubs[address] = name
        return address

    def _stub(self, cpu: unicorn.Uc, address: int, size: int, data: object) -> None:
        name = self._stubs[address]
        words = [cpu.reg_read(arm.UC_ARM64_REG_X0 + number) for number in range(4)]
        if name == "tls":
            cpu.reg_write(arm.UC_ARM64_REG_X0, self._word(words[0] + 8) + 64)
        elif name != "the end":
            cpu.reg_write(arm.UC_ARM64_REG_X0, _C_LIBRARY[name](self, *words) or 0)

    def copy(self, target: int, source: int, size: int, *_: int) -> int:
        """`memcpy`."""
        self._cpu.mem_write(target, self.read(source, size))
        return target

    def fill(self, target: int, byte: int, size: int, *_: int) -> int:
        """`memset`."""
        self._cpu.mem_write(target, bytes([byte & 255]) * size)
        return target

    def aligned(self, result: int, alignment: int, size: int, *_: int) -> int:
        """`posix_memalign`."""
        self._cpu.mem_write(result, struct.pack("<Q", self.allocate(bytes(size), alignment)))
        return 0

    def print(self, target: int, size: int, form: int, *_: int) -> int:
        """`vsnprintf`, of a text without its values."""
        text = self.text(form).encode()[: size - 1] + b"\0"
        self._cpu.mem_write(target, text)
        return len(text) - 1


def _nothing(*_: object) -> int:
    return 0


_C_LIBRARY: dict[str, Callable[..., int]] = {
    "memcpy": Machine.copy,
    "memset": Machine.fill,
    "posix_memalign": Machine.aligned,
    "malloc": lambda self, size, *_: self.allocate(bytes(size)),
    "vsnprintf": Machine.print,
    "sched_getaffinity": lambda *_: -1,
    "sysconf": lambda *_: 1,
    **dict.fromkeys(("free", "dlclose", "sigfillset", "clock_gettime", "madvise"), _nothing),
    **{f"pthread_{thing}_{verb}": _nothing for thing in ("mutex", "cond") for verb in ("init", "destroy")},
    **dict.fromkeys(("pthread_mutex_lock", "pthread_mutex_unlock"), _nothing),
}
