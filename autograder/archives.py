"""Notebooks out of zip and tar files that anybody may have made.

Nothing is ever extracted under the name that an archive gives it: contents go to numbered files, and the name
stays a label. Only notebooks, and archives inside archives once, are read at all; everything has a limit.
"""

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.roster import legible

NOTEBOOK = ".ipynb"
ZIPS, TARS = (".zip",), (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2")
OTHERS = (".7z", ".rar", ".xz", ".txz", ".gz", ".bz2", ".zst", ".lzma", ".lz", ".z", ".zipx", ".z01", ".001",
          ".cab", ".iso")  # fmt: skip
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of the other methods zipfile unpacks whatever a block of input holds at once, before anybody can count."""
UNPACKERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""How a packed tar file begins. All of these unpack no more than was asked for."""
SKIPPED = ("__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git")
"""Folders that programs make, in which nobody's work is."""
HIDDEN = "名字以点开头，当作隐藏的，没有收。请改名"
MAX_FILE = 100 * 2**20
MAX_MEMBERS = 20_000
MAX_RATIO = 200
"""Bytes that may come out for every byte of the archive, beyond the first :data:`FREE`."""
FREE = 64 * 2**20
MAX_DEPTH = 2
LATEST = 4e9
"""A time beyond that (the year 2096) is none."""


@dataclass(frozen=True)
class Member:
    """One file that was found: in a folder, or in an archive, or in an archive in an archive.

    Attributes:
        name: where it lay, with the archives on the way as folders.
        path: where its bytes are; None where they were not read.
        when: seconds since 1970, as far as known.
        reason: why it cannot be used, in Chinese; empty if it can.
    """

    name: PurePosixPath
    path: Path | None
    when: float = 0.0
    reason: str = ""


class TooMuch(Exception):
    """The archive holds more than anybody hands in."""


def plain(name: str) -> str:
    """The name without the ending that a browser hung on it."""
    return re.sub(r"(?i)(?<=\.ipynb)\.(txt|json)$", "", name)


def hidden(parts: tuple[str, ...]) -> str:
    """Of a path: ``skipped`` if a program made it, ``dotted`` if somebody's work may be in it, or empty."""
    made = any(part in SKIPPED for part in parts) or parts[-1].startswith(("._", ".~", ".#"))
    dotted = any(part.startswith(".") for part in parts)
    if made or (dotted and not kind(parts[-1])):
        return "skipped"
    return "dotted" if dotted else ""


def kind(name: str) -> str:
    """``notebook``, ``zip``, ``tar``, ``other`` (an archive that is not read) or empty."""
    lower = plain(name).lower()
    for ends, what in (((NOTEBOOK,), "notebook"), (ZIPS, "zip"), (TARS, "tar"), (OTHERS, "other")):
        if lower.endswith(ends):
            return what
    return ""


def stem(name: str) -> str:
    """An archive's name without its ending."""
    longest = sorted((*ZIPS, *TARS), key=len, reverse=True)
    ends = next((end for end in longest if name.lower().endswith(end)), "")
    return name[: len(name) - len(ends)]


class Reader:
    """Reads archives into numbered files under ``folder``."""

    def __init__(self, folder: Path):
        self.folder, self.number = folder, 0

    def members(
        self, path: Path, name: PurePosixPath, depth: int = 1, outer: "Budget | None" = None
    ) -> Iterator[Member]:
        """Every file of the archive at ``path``, named below ``name``. Never raises for what it holds."""
        allowed = MAX_RATIO * path.stat().st_size
        within = outer or Budget(4 * FREE + allowed)  # for all the archives inside it together
        budget = Budget(FREE + allowed, within)
        read = self._zip if kind(path.name) == "zip" else self._tar
        try:
            for member in read(path, name, budget):
                if member.path is None or kind(member.name.name) == "notebook":
                    yield member
                elif depth < MAX_DEPTH:
                    inner = member.name.with_name(stem(member.name.name) or "archive")
                    yield from self.members(member.path, inner, depth + 1, within)
                else:
                    yield Member(member.name, None, reason="压缩包套了太多层，请解压后再收")
        except TooMuch as reason:
            yield Member(name, None, reason=f"{reason}，没有继续解压。请人工查看")
        except Exception as error:  # damaged, or made to damage: readers raise many things
            yield Member(name, None, reason=f"压缩包坏了，读不完（{type(error).__name__}）。请向学生再要一份")

    def _zip(self, path: Path, name: PurePosixPath, budget: "Budget") -> Iterator[Member]:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_MEMBERS:
                raise TooMuch(f"压缩包里有 {len(entries)} 个文件")
            for entry in entries:
                if entry.is_dir():
                    continue
                label = _label(name, _zip_name(entry))
                if label is None:
                    yield Member(name / "…", None, reason="压缩包里的路径不安全，没有解压")
                    continue
                if how := hidden(label.relative_to(name).parts):
                    if how == "dotted":
                        yield Member(label, None, reason=HIDDEN)
                    continue
                if kind(label.name) in ("", "other"):
                    yield Member(label, None)
                    continue
                mode = entry.external_attr >> 16
                if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    yield Member(label, None, reason="是链接或设备，不是文件本身")
                elif entry.flag_bits & 1:
                    yield Member(label, None, reason="压缩包有密码，请解压后再收")
                elif entry.compress_type not in METHODS:
                    yield Member(label, None, reason="用了不常见的压缩方法，读不了，请解压后再收")
                else:
                    try:
                        with archive.open(entry) as source:
                            yield self._keep(label, source, budget, _zip_time(entry))
                    except TooMuch:
                        raise
                    except Exception as error:
                        yield Member(label, None, reason=f"读不出来（{type(error).__name__}）")

    def _tar(self, path: Path, name: PurePosixPath, budget: "Budget") -> Iterator[Member]:
        with path.open("rb") as file:
            begin = file.read(8)
        unpacker = next((unpack for mark, unpack in UNPACKERS.items() if begin.startswith(mark)), open)
        # Counted from the first byte: a header may claim any length, and tarfile reads as much at once.
        with unpacker(path, "rb") as stream, tarfile.TarFile(fileobj=_Counted(stream, budget)) as source:
            for count, entry in enumerate(source):
                if count > MAX_MEMBERS:
                    raise TooMuch(f"压缩包里有超过 {MAX_MEMBERS} 个文件")
                if entry.isdir():
                    continue
                label = _label(name, legible(entry.name))
                if label is None:
                    yield Member(name / "…", None, reason="压缩包里的路径不安全，没有解压")
                elif how := hidden(label.relative_to(name).parts):
                    if how == "dotted":
                        yield Member(label, None, reason=HIDDEN)
                elif kind(label.name) in ("", "other"):
                    yield Member(label, None)
                elif not entry.isreg():
                    yield Member(label, None, reason="是链接或设备，不是文件本身")
                else:
                    yield self._keep(label, source.extractfile(entry), budget, _time(entry.mtime))

    def _keep(self, label: PurePosixPath, source: BinaryIO, budget: "Budget", when: float) -> Member:
        self.number += 1
        target = self.folder / f"{self.number}{PurePosixPath(label.name.lower()).suffix}"
        if kind(label.name) == "tar":
            target = self.folder / f"{self.number}.tar"
        taken = 0
        with target.open("wb") as file:
            while block := source.read(1 << 16):
                taken += len(block)
                budget.take(len(block))
                if taken > MAX_FILE:
                    file.truncate(0)
                    return Member(label, None, when, f"文件太大，超过 {MAX_FILE // 2**20} MB")
                file.write(block)
        return Member(label, target, when)


class Budget:
    """Bytes that may still come out of one archive, and out of all those around and beside it."""

    def __init__(self, size: int, outer: "Budget | None" = None):
        self.left, self.outer = size, outer

    def take(self, count: int) -> None:
        self.left -= count
        if self.outer:
            self.outer.take(count)
        if self.left < 0:
            raise TooMuch("压缩包解开后大得不合常理")


class _Counted:
    """The unpacked stream of a tar file, counted: headers too, and going past a member is as reading it."""

    def __init__(self, stream: BinaryIO, budget: Budget):
        self.stream, self.budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self.budget.take(len(data))
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        here = self.stream.tell()
        if whence == 0 and position > here:
            self.budget.take(position - here)
        return self.stream.seek(position, whence)

    def tell(self) -> int:
        return self.stream.tell()

    def close(self) -> None:
        self.stream.close()


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """The member's name as text: without the UTF-8 flag, zip files made on Windows hold GBK."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        raw = entry.filename.encode("cp437")
    except UnicodeEncodeError:
        return entry.filename
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace")


def _zip_time(entry: zipfile.ZipInfo) -> float:
    try:
        return datetime(*entry.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _time(when: float) -> float:
    return float(when) if 0 < when < LATEST else 0.0


def _label(above: PurePosixPath, name: str) -> PurePosixPath | None:
    """The member's place below its archive; None where it points out of it."""
    path = PurePosixPath(name.replace("\\", "/").replace("\0", ""))
    drive = len(name) > 1 and name[1] == ":"
    if path.is_absolute() or ".." in path.parts or drive or not path.parts:
        return None
    return above / path
