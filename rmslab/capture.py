"""Hold back everything that student code prints, warns or writes to a file descriptor.

nbgrader gives zero for anything on stderr in a test cell, so a warning from deep inside a C++ library must
not escape; and a student must still see it, so the text is kept for the feedback card.
"""

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator

MAX_TEXT = 4000
MAX_BYTES = 2**20
"""What Python code may write before the rest is dropped, so that printing without end fills no disk."""


class _Bounded(io.FileIO):
    """A file that takes the first megabyte and swallows the rest."""

    taken = 0

    def write(self, data: bytes) -> int:
        if self.taken < MAX_BYTES:
            super().write(data)
            self.taken += len(data)
        return len(data)


class Captured:
    """What was written: ``text`` (stdout, stderr, descriptors 1 and 2 in order, cut to 4,000 characters)."""

    text: str = ""


@contextlib.contextmanager
def capture() -> Iterator[Captured]:
    """Redirect ``sys.stdout``, ``sys.stderr``, descriptors 1 and 2, warnings and logging for the block."""
    captured = Captured()
    old_streams = (sys.stdout, sys.stderr)
    _flush(old_streams)
    with tempfile.TemporaryFile() as file, contextlib.ExitStack() as undo:
        raw = _Bounded(os.dup(file.fileno()), "wb")
        stream = io.TextIOWrapper(raw, "utf-8", errors="replace", write_through=True)
        undo.callback(_close, stream)
        for fd in (1, 2):
            if _is_open(fd):
                saved = os.dup(fd)
                undo.callback(_restore, saved, fd)
                os.dup2(file.fileno(), fd)
        for handler in _handlers_of(old_streams):
            undo.callback(setattr, handler, "stream", handler.stream)
            handler.stream = stream
        undo.enter_context(contextlib.redirect_stdout(stream))
        undo.enter_context(contextlib.redirect_stderr(stream))
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        try:
            yield captured
        finally:
            file.seek(0)
            captured.text = file.read(4 * MAX_TEXT).decode("utf-8", "replace")[:MAX_TEXT]


def _handlers_of(streams: tuple) -> list[logging.StreamHandler]:
    """Logging handlers that hold one of ``streams`` itself: replacing ``sys.stderr`` is not enough."""
    handlers = (ref() for ref in logging._handlerList)
    return [h for h in handlers if isinstance(h, logging.StreamHandler) and vars(h).get("stream") in streams]


def _restore(saved: int, fd: int) -> None:
    os.dup2(saved, fd)
    os.close(saved)


def _close(stream: io.TextIOBase) -> None:
    with contextlib.suppress(ValueError, OSError):  # student code may have closed it
        stream.close()


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _flush(streams: tuple) -> None:
    for stream in streams:
        with contextlib.suppress(Exception):
            stream.flush()
