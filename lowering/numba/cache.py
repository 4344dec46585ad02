"""A content-addressed cache of small files on disk, shared by any number of threads and processes.
What goes into a key is the caller's affair, but for `environment_key` and `package_key`; what an entry means too."""

import hashlib
import importlib.metadata
import os
import struct
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

from xdsl_rlx.lowering.errors import CacheWarning, ConfigurationError

_MAGIC = b"xdslrlx1"
_HEADER = struct.Struct("<8sQ32s")
_SUFFIX = ".bin"
_DEFAULT_LIMIT = 1 << 30
_state = {"warned": False, "stores": 0}


def environment_key() -> str:
    """
    Digest of all that object code depends on besides its source: CPU, library versions, and the `package_key`.

    Raises `ConfigurationError` when `XDSL_RLX_CPU` names no processor that code can be compiled for.
    """
    from xdsl_rlx.lowering.numba.compile import target

    return _environment_key(target())


@cache
def _environment_key(target: tuple[str, str]) -> str:
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return hashlib.sha256(repr((target, versions, package_key())).encode()).hexdigest()


@cache
def package_key() -> str:
    """Digest of all that passes depend on besides their module: Python, xDSL, and this package's own text."""
    digest = hashlib.sha256(repr((sys.version_info[:3], importlib.metadata.version("xdsl"))).encode())
    root = str(Path(__file__).absolute().parents[2])
    for folder, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                digest.update(os.path.relpath(path, root).encode())
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def directory() -> Path:
    """The cache folder: `XDSL_RLX_CACHE_DIR`, else the user's cache folder of the platform."""
    return Path(os.environ.get("XDSL_RLX_CACHE_DIR") or platformdirs.user_cache_dir("xdsl-rlx"))


def limit() -> int:
    """Bytes that the cache may hold: `XDSL_RLX_CACHE_BYTES`, else 1 GiB. Raises `ConfigurationError`."""
    text = os.environ.get("XDSL_RLX_CACHE_BYTES")
    if not text:
        return _DEFAULT_LIMIT
    if not text.isdecimal():
        raise ConfigurationError(f"XDSL_RLX_CACHE_BYTES must be a number of bytes, got {text!r}")
    return int(text)


def load(key: str) -> bytes | None:
    """The entry of a key; None when there is none, or when it is damaged, which it says in a `CacheWarning`."""
    path = directory() / (key + _SUFFIX)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload = data[_HEADER.size :]
    if data[: _HEADER.size] != _header(payload):
        warnings.warn(CacheWarning(f"cache entry {path} is damaged and will be replaced"), stacklevel=2)
        return None
    with suppress(OSError):
        os.utime(path)
    return payload


def store(key: str, payload: bytes) -> None:
    """
    Write an entry, atomically: other processes see the old one, none, or this one, whole.

    A folder that cannot be written is reported once per process in a `CacheWarning`, and is otherwise no error.
    """
    folder = directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=key[:16], suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_header(payload))
                file.write(payload)
            os.replace(temporary, folder / (key + _SUFFIX))
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if not _state["warned"]:
            _state["warned"] = True
            message = f"the compile cache {folder} cannot be written ({error}): programs are compiled in each process"
            warnings.warn(CacheWarning(message), stacklevel=2)
        return
    if _state["stores"] % 16 == 0:
        prune(folder, limit())
    _state["stores"] += 1


def prune(folder: Path, most: int) -> None:
    """Delete the least recently used entries until at most `most` bytes are left."""
    entries = list[tuple[float, int, str]]()
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith((_SUFFIX, ".tmp")):
                with suppress(OSError):
                    status = file.stat()
                    entries.append((status.st_mtime, status.st_size, file.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size


def _header(payload: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, len(payload), hashlib.sha256(payload).digest())
