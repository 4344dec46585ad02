"""Replace a file by another content in one step: readers see the old file or the new one, whole.

The new content goes to a file without a name (Linux `O_TMPFILE`), which a killed process leaves nothing of. It gets a
temporary name only for the moment before it is renamed. Its writer holds a lock on it, so the next save recognises
temporary files whose writer has died, and removes them.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from contextlib import ExitStack, suppress

from xdsl_rlx.dialects.errors import CheckpointError

_NO_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
"""Errors of a file system or kernel without `O_TMPFILE`."""
_OPEN_FILES = "/proc/self/fd"
"""Gives a file without a name one."""


def replace_file(path: str, content: bytes | bytearray) -> None:
    """
    Write `content` to the file `path`; it is on the disk when this returns.

    A symbolic link stays a link: its target is replaced. A file that exists keeps its mode and, where the process may
    set it, its owner; a new one has the mode of the umask. CheckpointError for what is no regular file.
    """
    path = os.path.realpath(path)
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise CheckpointError(f"{path} is not a regular file; name a file to save to")
    folder = os.path.dirname(path)
    # where there is no such folder, the error names it and not the temporary file
    os.stat(folder)
    with _Temporary(folder, os.path.basename(path)) as file:
        view = memoryview(content)
        while len(view):
            view = view[os.write(file.handle, view) :]
        if old is not None:
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(file.handle, old.st_uid, old.st_gid)
            os.fchmod(file.handle, stat.S_IMODE(old.st_mode))
        os.fsync(file.handle)
        os.replace(file.named(), path)
    # a folder that may be written, but not read, cannot be opened
    with suppress(PermissionError):
        _sync_folder(folder)


class _Temporary:
    """A new file in a folder, locked by this process, that is gone at the end unless it was renamed."""

    def __init__(self, folder: str, target: str):
        # names of 255 bytes are the longest there are, so that of the target cannot be part of this one
        digest = hashlib.sha256(os.fsencode(target)).hexdigest()[:24]
        self._stem = os.path.join(folder, f".rlx-save-{digest}")
        self._folder = folder
        self._name = ""
        self.handle = -1

    def __enter__(self) -> _Temporary:
        number = 0
        while os.path.lexists(name := f"{self._stem}-{number}"):
            _remove_orphan(name)
            number += 1
        with ExitStack() as on_failure:
            on_failure.callback(self.__exit__)
            if not self._open_unnamed():
                self._create()
            on_failure.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle < 0:
            return
        # once it is renamed, the temporary name may be another process's
        with suppress(FileNotFoundError):
            if self._name and os.path.samestat(os.fstat(self.handle), os.stat(self._name, follow_symlinks=False)):
                os.unlink(self._name)
        os.close(self.handle)

    def named(self) -> str:
        """The path of the file, which gets a name here if it has none."""
        number = 0
        while not self._name:
            name = f"{self._stem}-{number}"
            try:
                # `dst_dir_fd` makes `os.link` follow the link; an absolute path does not read it
                os.link(f"{_OPEN_FILES}/{self.handle}", name, dst_dir_fd=self.handle, follow_symlinks=True)
                self._name = name
            except FileExistsError:
                if not _remove_orphan(name):
                    number += 1
        return self._name

    def _open_unnamed(self) -> bool:
        """Whether the system has files without a name, and this is one."""
        if not hasattr(os, "O_TMPFILE") or not os.path.isdir(_OPEN_FILES):
            return False
        try:
            self.handle = os.open(self._folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno in _NO_TMPFILE:
                return False
            raise
        _lock(self.handle)
        return True

    def _create(self) -> None:
        """Create a file that has a temporary name from the start."""
        number = 0
        while self.handle < 0:
            name = f"{self._stem}-{number}"
            try:
                handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                if not _remove_orphan(name):
                    number += 1
                continue
            _lock(handle)
            if os.fstat(handle).st_nlink:
                self.handle, self._name = handle, name
            else:
                # another process took it for an orphan before it was locked
                os.close(handle)


def _lock(handle: int) -> None:
    # on a file system without locks, no process removes what another has left
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)


def _remove_orphan(name: str) -> bool:
    """Remove a temporary file unless its writer lives; whether the name may be free now."""
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # another process may have removed the file and made a new one of that name before the lock
        if os.path.samestat(os.fstat(handle), os.stat(name, follow_symlinks=False)):
            os.unlink(name)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
