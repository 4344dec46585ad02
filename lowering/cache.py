"""A content-addressed cache of small files on disk, shared by any number of threads and processes.
What goes into a key is the caller's affair, but for `versions_key` and `package_key`; what an entry means too."""

import fcntl
import hashlib
import importlib.metadata
import os
import stat
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

import platformdirs

from xdsl_rlx.forks import at_fork
from xdsl_rlx.lowering.run_errors import CacheWarning, ConfigurationError
from xdsl_rlx.plugins import sources

INSTALLED = Path(__file__).absolute().parents[1] / "machine_code"
"""Entries that are part of the installation, as trusted as the package beside them: of `build_library.py`."""

T = TypeVar("T")
_MAGIC = b"xdslrlx2"
_HEADER = struct.Struct("<8sQ32s")
_SUFFIX = ".bin"
_TEMPORARY = "new.tmp"
"""The entry being written. There is one at a time, so a writer that died leaves one, which the next replaces."""
_TOTAL = "total"
"""Holds the bytes of all entries, and is locked by the process that stores."""
_LOCK_SECONDS = 2.0
_OLD_SECONDS = 3600.0
_PART = 1 << 16
"""Bytes read of a source file at a time: `os.read` makes room for them all, however short the file is."""
_DEFAULT_LIMIT = 1 << 30
_OPEN_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Never through a link; and opening a pipe must not wait for its other end."""
_storing = threading.Lock()
at_fork.hold(_storing)
_reported: set[tuple[str, str]] = set()
_scanned: set[str] = set()


class _RefusedError(Exception):
    """Why a file of the cache is not used."""


class _TooLargeError(Exception):
    """A file of the cache is larger than all entries together may be."""


class _UntrustedFolderError(Exception):
    """Why the cache is not used."""


class _NoFolderError(Exception):
    """Why the folder of the cache cannot be opened: `store` reports it, not each `load`."""


@cache
def versions_key() -> str:
    """Digest of the versions of everything that writes or reads entries, and of the `package_key`."""
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return hashlib.sha256(repr((versions, package_key())).encode()).hexdigest()


@cache
def package_key() -> str:
    """Digest of all that passes depend on besides their module: Python, xDSL, the text of this package and plugins."""
    digest = hashlib.sha256(repr((sys.version_info[:3], importlib.metadata.version("xdsl"))).encode())
    for part in _texts(str(Path(__file__).absolute().parents[1])):
        digest.update(part)
    for plugin, paths in sources():
        digest.update(plugin.encode())
        for part in chain.from_iterable(map(_texts, paths)):
            digest.update(part)
    return digest.hexdigest()


def _texts(root: str) -> Generator[bytes, None, None]:
    """The text of a file, or names and texts of the modules in a folder."""
    if os.path.isfile(root):
        yield from _text(root)
    for folder, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(".py"):
                path = f"{folder}/{name}"
                yield path.removeprefix(root).encode()
                yield from _text(path)


def _text(path: str) -> Generator[bytes, None, None]:
    # of hundreds of small files, a file object takes as long as the rest, and so does asking for the size
    handle = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(handle, _PART):
            yield part
            if len(part) < _PART:
                break
    finally:
        os.close(handle)


def directory() -> Path:
    """The cache folder: `XDSL_RLX_CACHE_DIR`, else the user's cache folder of the platform."""
    return Path(os.environ.get("XDSL_RLX_CACHE_DIR") or platformdirs.user_cache_dir("xdsl-rlx"))


def _directory() -> Path | None:
    """The cache folder; None for a user without a home, whom a warning tells once."""
    try:
        return directory()
    except RuntimeError as error:
        _report_once(Path("~"), f"has no folder ({error}); XDSL_RLX_CACHE_DIR names one")
        return None


def limit() -> int:
    """Return the bytes that the cache may hold: `XDSL_RLX_CACHE_BYTES`, else 1 GiB. Raises `ConfigurationError`."""
    text = os.environ.get("XDSL_RLX_CACHE_BYTES")
    if not text:
        return _DEFAULT_LIMIT
    if not text.isdecimal() or len(text) > 20:
        raise ConfigurationError(f"XDSL_RLX_CACHE_BYTES must be a number of bytes, got {text[:40]!r}")
    return int(text)


def trusting() -> bool:
    """
    Whether others may own or write the cache: `XDSL_RLX_CACHE_TRUST` is 1, and not 0 or absent.

    Raises `ConfigurationError` for any other value.
    """
    text = os.environ.get("XDSL_RLX_CACHE_TRUST", "")
    if text not in ("", "0", "1"):
        raise ConfigurationError(f"XDSL_RLX_CACHE_TRUST must be 0 or 1, got {text!r}")
    return text == "1"


def load(key: str) -> bytes | None:
    """
    Return the entry of a key, or None.

    A `CacheWarning` says why an entry is not used. With `XDSL_RLX_CACHE_BYTES=0` no entry is read or written but those
    of the installation.
    """
    return load_as(key, bytes)


def load_as(key: str, decode: Callable[[bytes], T]) -> T | None:
    """
    What `decode` makes of the entry of a key, of the user's folder or of the installation.

    An entry that it cannot decode is one that cannot be used.
    """
    for find in (_of_user, _of_installation):
        if (found := find(key)) is None:
            continue
        path, payload = found
        try:
            return decode(payload)
        except Exception as error:
            # whatever it is, the entry serves nobody
            _warn(f"cache entry {path} cannot be loaded ({error}) and will be replaced")
    return None


def _of_user(key: str) -> tuple[Path, bytes] | None:
    place, most = _directory(), limit()
    if place is None or not most:
        return None
    path = place / (key + _SUFFIX)
    try:
        with _folder(path.parent) as folder:
            return path, _read(folder, key, most)
    except (FileNotFoundError, NotADirectoryError, _NoFolderError):
        return None
    except _UntrustedFolderError as reason:
        _report_once(path.parent, str(reason))
        return None
    except _TooLargeError:
        _report_once(path.parent, f"has entries larger than XDSL_RLX_CACHE_BYTES={most}, which are not used")
        return None
    except (_RefusedError, OSError) as error:
        reason = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else error
        _warn(f"cache entry {path} {reason} and will be replaced")
        return None


def _of_installation(key: str) -> tuple[Path, bytes] | None:
    path = INSTALLED / (key + _SUFFIX)
    try:
        handle = os.open(path, os.O_RDONLY | _OPEN_FILE)
    except OSError:
        # none was built, or none for this processor and these sources
        return None
    with os.fdopen(handle, "rb") as file:
        data = file.read()
    payload = data[_HEADER.size :]
    return (path, payload) if data == _header(key, payload) + payload else None


def is_installed(key: str) -> bool:
    """Whether the installation has an entry of a key."""
    return _of_installation(key) is not None


def install(key: str, payload: bytes, folder: Path) -> None:
    """Write an entry into a folder that becomes the installation's, for all who may read the package."""
    (folder / (key + _SUFFIX)).write_bytes(_header(key, payload) + payload)


def store(key: str, payload: bytes) -> None:
    """
    Write an entry, atomically: other processes see the old one, none, or this one, whole.

    Entries used longest ago make room for it; one that is larger than the whole cache may be is not written. A folder
    that cannot be written is reported once per process in a `CacheWarning`, and is otherwise no error.
    """
    path, most, data = _directory(), limit(), _header(key, payload) + payload
    if path is None or len(data) > most:
        return
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        with _storing, _folder(path) as folder, _locked_total(folder) as total:
            if _make_room(str(path), folder, total, len(data), most):
                _write(folder, key, data)
    except _UntrustedFolderError as reason:
        _report_once(path, str(reason))
    except _NoFolderError as reason:
        _report_once(path, f"cannot be written ({reason})")
    except OSError as error:
        _report_once(path, f"cannot be written ({error.strerror or error})")
    except RecursionError:
        # `os.makedirs` calls itself for each of them
        _report_once(path, "cannot be written (too many folders)")


@contextmanager
def _folder(path: Path) -> Generator[int]:
    """The folder, opened, so that what is checked is what is used."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _NoFolderError(error.strerror or str(error)) from error
    try:
        try:
            _check_owner(os.fstat(handle))
        except _RefusedError as reason:
            raise _UntrustedFolderError(f"{reason}, which XDSL_RLX_CACHE_TRUST=1 would allow") from reason
        yield handle
    finally:
        os.close(handle)


def _check_owner(status: os.stat_result) -> None:
    if trusting():
        return
    if status.st_uid != os.geteuid():
        raise _RefusedError("belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _RefusedError("can be written by other users")


def _check_file(status: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _RefusedError("is not a regular file")
    _check_owner(status)
    if status.st_size > most:
        raise _TooLargeError


def _read(folder: int, key: str, most: int) -> bytes:
    name = key + _SUFFIX
    # before opening as well, because opening a device may do something
    _check_file(os.stat(name, dir_fd=folder, follow_symlinks=False), most)
    with os.fdopen(os.open(name, os.O_RDONLY | _OPEN_FILE, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        _check_file(status, most)
        header = file.read(_HEADER.size)
        size = status.st_size - _HEADER.size
        if len(header) < _HEADER.size or _HEADER.unpack(header)[:2] != (_MAGIC, size):
            raise _RefusedError("is damaged")
        payload = file.read(size)
        if header != _header(key, payload):
            raise _RefusedError("is damaged")
        with suppress(OSError):
            os.utime(file.fileno())
    return payload


def _write(folder: int, key: str, data: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(_TEMPORARY, dir_fd=folder)
    handle = os.open(_TEMPORARY, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FILE, _mode(), dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(_TEMPORARY, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(_TEMPORARY, dir_fd=folder)
        raise


def _mode() -> int:
    # those who are trusted may read and write as the process's umask says
    return 0o666 if trusting() else 0o600


@contextmanager
def _locked_total(folder: int) -> Generator[int]:
    """The file that holds the total, opened and locked against other processes."""
    handle = os.open(_TOTAL, os.O_RDWR | os.O_CREAT | _OPEN_FILE, _mode(), dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{_TOTAL} is not a regular file")
        end = time.monotonic() + _LOCK_SECONDS
        while not _try_lock(handle):
            if time.monotonic() > end:
                raise TimeoutError("another process has it locked")
            time.sleep(0.001)
        try:
            yield handle
        finally:
            # closing is not enough where a forked child has the file open too
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_room(path: str, folder: int, total: int, size: int, most: int) -> bool:
    """Whether `size` more bytes are within the limit, after deleting what had to go; they are then counted."""
    text = os.pread(total, 32, 0)
    count = int(text) if text.isdigit() else most
    # what others copied here or deleted is counted when a process stores for the first time
    if count + size > most or path not in _scanned:
        _scanned.add(path)
        count = _prune(folder, most - size)
        if count + size > most:
            return False
    # counted before it is there: a writer that dies in between leaves a total that is too large, not too small
    os.pwrite(total, b"%020d" % (count + size), 0)
    return True


def _prune(folder: int, most: int) -> int:
    """Delete the least recently used entries when there are more than `most` bytes of them; gives what is left."""
    entries = list[tuple[float, int, str]]()
    with os.scandir(folder) as files:
        for file in files:
            with suppress(OSError):
                status = file.stat(follow_symlinks=False)
                if file.name.endswith(_SUFFIX) and stat.S_ISREG(status.st_mode):
                    entries.append((status.st_mtime, status.st_size, file.name))
                elif file.name.endswith(".tmp") and status.st_mtime < time.time() - _OLD_SECONDS:
                    os.unlink(file.name, dir_fd=folder)
    total = sum(size for _, size, _ in entries)
    if total <= most:
        return total
    for _, size, name in sorted(entries):
        # some more, so that not every entry of a full cache needs a look at all others
        if total <= most - most // 16:
            break
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
            total -= size
    return total


def _header(key: str, payload: bytes) -> bytes:
    """What an entry begins with: the digest binds the payload to its key and to all that reads it."""
    digest = hashlib.sha256(b"\0".join((_MAGIC, versions_key().encode(), key.encode(), b"")))
    digest.update(payload)
    return _HEADER.pack(_MAGIC, len(payload), digest.digest())


def _report_once(folder: Path, reason: str) -> None:
    if (str(folder), reason) not in _reported:
        _reported.add((str(folder), reason))
        _warn(f"the compile cache {folder} {reason}: programs are compiled in each process")


def _warn(message: str) -> None:
    warnings.warn(CacheWarning(message), stacklevel=4)
