"""A line on a terminal that says how far something is, where it takes longer than a second."""

import os
import sys
import threading
from time import monotonic
from typing import Self, TextIO

from xdsl_rlx.lowering.run_errors import ConfigurationError

PATIENCE = 1.0
"""Seconds before anything is said."""
PAUSE = 0.1
"""Seconds between two lines."""
CLEAR = "\r\x1b[K"
"""Back to the begin of the line, and nothing behind it."""


def is_wanted() -> bool:
    """Whether `XDSL_RLX_PROGRESS` does not say 0; ConfigurationError for anything but 0 and 1."""
    text = os.environ.get("XDSL_RLX_PROGRESS", "")
    if text not in ("", "0", "1"):
        raise ConfigurationError(f"XDSL_RLX_PROGRESS must be 0 or 1, got {text!r}")
    return text != "0"


class Progress:
    """What is said on stderr while the context lasts, if that is a terminal; the line is empty again in the end."""

    def __init__(self, what: str) -> None:
        self._what = what
        stream: TextIO | None = sys.stderr
        # a program without a console has none
        self._stream = stream if is_wanted() and stream is not None and stream.isatty() else None
        self._next = monotonic() + PATIENCE
        self._lock = threading.Lock()
        self._said = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # whoever is still at work has nothing to say any more
        with self._lock:
            if self._said:
                self._write(CLEAR)
            self._stream = None

    def say(self, how_far: str) -> None:
        """How far it is, from any thread; not every call is heard."""
        if self._stream is None or monotonic() < self._next:
            return
        with self._lock:
            self._write(f"{CLEAR}{self._what}: {how_far}")
            self._said, self._next = True, monotonic() + PAUSE

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
