"""Submitted bytes → a clean notebook: the master, with only the student's own sources put in.

Test cells, tags, metadata and kernelspec always come from the master. Solution cells are matched by grade_id,
else by what they define, else by likeness. Other code the student wrote is kept and run, without metadata.
"""

import ast
import contextlib
import copy
import difflib
import json
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder import prose

EXTRA = "extra-"
"""Ids of cells that the student added begin so."""

MAX_BYTES = 100 * 2**20
MAX_CELLS = 3_000
MAX_VALUES = 3_000_000
"""Values in the JSON of one notebook: they take up to a hundred times the bytes of the file."""
MAX_COMPARED = 6_000
"""Characters of a cell that is still compared by likeness: the time grows with their square."""
MAX_CANDIDATES = 40
MAX_SPLIT = 200_000
"""Characters of a cell that is still looked at line by line."""
DEFINITIONS = re.compile(r"^(?:(?:async )?def|class) +(\w+)|^(\w+) *(?::[^=\n]*)?=(?!=)", re.MULTILINE)
HAN = re.compile(r"[\u4e00-\u9fff]")
ASCII = bytes(range(128))
NOT_RUN = "实验单元格里写了新的定义，而评分不运行实验：作答要用的函数，请写在作答单元格里。"
LOST = "\ufffd"
"""What stands for a byte that could not be read."""


class Unreadable(Exception):
    """No notebook can be made of these bytes; the message says why, in Chinese."""


@dataclass(frozen=True)
class Rebuilt:
    """A notebook fit to run.

    Attributes:
        notebook: the master with the student's sources.
        blank: grade_ids of solution cells that are as released (or gone).
        notes: what was put right, in Chinese, for instructor and student.
    """

    notebook: NotebookNode
    blank: frozenset[str]
    notes: tuple[str, ...]


def submitted(path: Path) -> bytes:
    """What was handed in, as far as anybody would read it.

    Raises:
        Unreadable: no such file, or nothing that is one.
    """
    try:
        if path.is_symlink() or path.parent.is_symlink():
            raise Unreadable("是一个链接，不是文件本身")
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable("不是普通的文件")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Unreadable(f"文件夹里没有 {path.name}，要由 autograder collect 来收") from None
    except OSError as error:
        raise Unreadable(f"文件打不开：{error.strerror}") from None


def parse(data: bytes) -> Any:
    """The JSON document, from whatever encoding. What a disk or a copy may leave after its end is not read.

    Raises:
        Unreadable: empty, cut off, no JSON, far too much.
    """
    if not data.strip():
        raise Unreadable("文件是空的")
    if len(data) > MAX_BYTES:
        raise Unreadable(f"文件太大，超过 {MAX_BYTES // 2**20} MB，可能存进了巨大的输出")
    if sum(map(data.count, (b"[", b"{", b","))) > MAX_VALUES:
        raise Unreadable("内容太多，可能存进了巨大的输出")
    text = decoded(data).lstrip("\ufeff\0 \t\r\n")
    try:
        return json.JSONDecoder(strict=False, parse_int=_integer).raw_decode(text)[0]
    except (ValueError, RecursionError):
        raise Unreadable(_why_not_json(text)) from None


def read(data: bytes) -> list[dict[str, Any]]:
    """The submitted cells, nbformat 2 to 4: ``{type, source, grade_id, id, lines, names, attachments}`` each.

    Raises:
        Unreadable: see :func:`parse`; no notebook.
    """
    document = parse(data)
    if _list(document, "worksheets") and not _list(document, "cells"):
        document = {"cells": [c for sheet in document["worksheets"] for c in _list(sheet, "cells")]}
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise Unreadable("不是 notebook：没有 cells")
    if len(document["cells"]) > MAX_CELLS:
        raise Unreadable(f"单元格太多（{len(document['cells'])} 个）")
    return [_cell(cell) for cell in document["cells"] if isinstance(cell, dict)]


def decoded(data: bytes) -> str:
    """As text: UTF-8, UTF-16, UTF-32, GBK; single bytes that are none of it, replaced.

    Raises:
        Unreadable: none of these.
    """
    if data.startswith(b"PK\x03\x04"):
        raise Unreadable("是压缩包，不是 notebook")
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode(json.detect_encoding(data))
    text = data.decode("utf-8", "replace")
    lost = text.count(LOST)
    if 10 * lost < len(data.translate(None, ASCII)):
        return text
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("gb18030")
    if 100 * lost < len(text):
        return text
    raise Unreadable("不是文本文件")


def _integer(digits: str) -> int:
    """Python refuses to read more than a few thousand digits; no notebook means such a number."""
    return int(digits[:400])


def _why_not_json(text: str) -> str:
    if text.lstrip()[:1] == "<":
        return "是网页，不是 notebook"
    if "<<<<<<<" in text and ">>>>>>>" in text:
        return "里面有 Git 合并冲突的标记"
    return "内容不完整，不是合法的 JSON"


def _list(node: Any, key: str) -> list:
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, list) else []


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        parts = [part for part in source if isinstance(part, str)]
        ended = len(parts) < 2 or any(part.endswith(("\n", "\r")) for part in parts[:-1])
        source = ("" if ended else "\n").join(parts)  # some tools leave out the line ends
    source = _clean(source) if isinstance(source, str) else ""
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    marks = metadata.get("nbgrader") if isinstance(metadata.get("nbgrader"), dict) else {}
    return {
        "type": cell.get("cell_type"),
        "source": source,
        "grade_id": marks.get("grade_id"),
        "id": cell.get("id"),
        "lines": _essence(source),
        "names": _defines(source),
        "attachments": cell.get("attachments"),
    }


def _clean(source: str) -> str:
    """Without carriage returns, NUL bytes and halves of surrogate pairs, which no file could hold."""
    source = source.replace("\r\n", "\n").replace("\0", "")
    return source.encode("utf-8", "replace").decode("utf-8")


def is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def rebuild(master: NotebookNode, data: bytes) -> Rebuilt:
    """Put the student's solution sources and extra code into a copy of the master (as released).

    Raises:
        Unreadable: see :func:`read`.
    """
    given = read(data)
    notebook = copy.deepcopy(master)
    notes: list[str] = []
    used: set[int] = set()
    answers: dict[str, int] = {}
    place = _matches(notebook, given)

    blank = set()
    for cell in notebook.cells:
        if not is_solution(cell):
            continue
        name = cell.metadata.nbgrader.grade_id
        i = _find_solution(cell, notebook, given, place, used, notes)
        if cell.cell_type == "code":
            written = _write_code(cell, i, given, used, notes)
        else:
            parts = _text_parts(cell, i, notebook, given, place, used, notes)
            written = bool(parts)
            used.update(parts)
            _write_text(cell, [given[part] for part in parts], notes)
        if i is not None:
            answers[name] = i
            used.add(i)
        if not written:
            blank.add(name)
            if i is None:
                notes.append(f"没有找到作答单元格 {name}，按未作答处理。")

    edited = [
        cell.id for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade") and not is_solution(cell)
        and cell.id in place and not _same(given[place[cell.id]], cell)
    ]  # fmt: skip
    if edited:
        notes.append(f"检查单元格被改过，已恢复原样：{'、'.join(edited)}。")
    if any(LOST in submitted["source"] for submitted in given):
        notes.append(f"文件里有读不出的字节，用 {LOST} 代替了。")
    _insert_extras(notebook, given, place, used, answers, notes)
    return Rebuilt(notebook, frozenset(blank), tuple(notes))


def _write_code(cell: NotebookNode, i: int | None, given: list[dict], used: set[int], notes: list[str]) -> bool:
    """Put the submitted cell ``i`` in place of ``cell``; whether anything was written there."""
    name, wanted, asked = cell.metadata.nbgrader.grade_id, _defines(cell.source), _essence(cell.source)
    if i is not None:
        cell.source = given[i]["source"]
    elif wanted and any(wanted <= given[k]["names"] and given[k]["type"] in ("code", None) for k in used):
        notes.append(f"作答单元格 {name} 并进了另一个作答单元格，用那里写的。")
        cell.source = ""
    written = _essence(cell.source) != asked
    if not written and any(g["type"] == "markdown" and wanted and wanted <= g["names"] for g in given):
        notes.append(f"作答 {name} 的代码写在文字单元格里，没有运行，请人工查看。")
    return written


def _text_parts(
    cell: NotebookNode, i: int | None, notebook: NotebookNode, given: list[dict], place: dict[str, int],
    used: set[int], notes: list[str],
) -> list[int]:  # fmt: skip
    """Cell ``i``, others of its name and new ones right below; where nothing is written there, text elsewhere.

    A person reads it, and sees better than any rule whether it is an answer.
    """
    name = cell.metadata.nbgrader.grade_id
    parts = sorted({k for k, g in enumerate(given) if k == i or name in (g["grade_id"], g["id"])})
    standing = set(place.values()) - set(parts)
    for k in range(parts[-1] + 1 if parts else len(given), len(given)):
        if k in standing or not (given[k]["type"] == "markdown" or _is_prose(given[k])):
            break
        parts.append(k)
    worked = [k for k in parts if given[k]["lines"] and not _same(given[k], cell)]
    if not worked:
        as_released = {place[c.id] for c in notebook.cells if c.id in place and _same(given[place[c.id]], c)}
        free = [k for k in range(len(given)) if k not in used | as_released and k not in parts]
        worked = [k for k in free if given[k]["type"] == "markdown" and given[k]["lines"]]
    different = list({tuple(given[k]["lines"]): k for k in reversed(worked)}.values())[::-1]
    if different not in ([], [i]):
        notes.append(f"文字作答 {name} 不止写在原来的单元格里，或写在别处；都放到一起了。")
    return different


def _is_prose(submitted: dict[str, Any]) -> bool:
    """Whether a code cell holds words: a new cell is a code cell until somebody changes that."""
    try:
        ast.parse(submitted["source"])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return HAN.search(submitted["source"]) is not None and not submitted["names"]
    return False


def _write_text(cell: NotebookNode, parts: list[dict[str, Any]], notes: list[str]) -> None:
    if not parts:
        return
    pictures: dict[str, dict[str, str]] = {}
    for part in parts:
        pictures |= prose.pictures(part["attachments"])
    if not prose.fits(pictures):
        name = cell.metadata.nbgrader.grade_id
        notes.append(f"{name} 里粘贴的图片太多或太大，没有带上；原件在提交的文件里。")
        pictures = {}
    prose.write(cell, "\n\n".join(part["source"] for part in parts), pictures)


def _same(submitted: dict[str, Any], cell: NotebookNode) -> bool:
    return submitted["lines"] == _essence(cell.source)


def _essence(source: str) -> list[str]:
    """Its lines, without what an editor may add at their ends."""
    return [line.rstrip() for line in source.strip().splitlines()] if len(source) < MAX_SPLIT else [source]


def _matches(notebook: NotebookNode, given: list[dict]) -> dict[str, int]:
    """Which submitted cell stands where a master cell stood: by grade_id, then id, then equal source."""
    place: dict[str, int] = {}
    taken: set[int] = set()
    for cell in notebook.cells:
        name, essence = cell.metadata.get("nbgrader", {}).get("grade_id"), _essence(cell.source)
        marked = (i for i, g in enumerate(given) if (name and g["grade_id"] == name) or g["id"] == cell.id)
        equal = (i for i, g in enumerate(given) if essence and g["lines"] == essence)
        found = next((i for i in (*marked, *equal) if i not in taken), None)
        if found is not None:
            place[cell.id] = found
            taken.add(found)
    return place


def _find_solution(
    cell: NotebookNode,
    notebook: NotebookNode,
    given: list[dict],
    place: dict[str, int],
    used: set[int],
    notes: list[str],
) -> int | None:
    """The submitted cell that answers this one: of several, the last that was worked on.

    By grade_id or cell id; where that finds nothing, or a cell as released, by what a cell defines, by
    likeness, and last by being the only unclaimed cell between the same neighbours.
    """
    name = cell.metadata.nbgrader.grade_id
    named = [i for i, g in enumerate(given) if name in (g["grade_id"], g["id"]) and i not in used]
    worked = [i for i in named if not _same(given[i], cell)]
    wanted = _defines(cell.source)
    if worked:
        chosen = ([i for i in worked if wanted <= given[i]["names"]] or worked)[-1]
        copies = [i for i in named if i not in worked or given[i]["names"] & given[chosen]["names"]]
        if cell.cell_type == "code" and len(copies) > 1:
            notes.append(f"作答单元格 {name} 出现了 {len(copies)} 次，用最后一个写过的。")
        return chosen
    standing = {
        place[c.id] for c in notebook.cells
        if c.id in place and c is not cell
        and ("nbgrader" in c.metadata or _same(given[place[c.id]], c) or wanted <= _defines(c.source))
    }  # fmt: skip
    text = cell.cell_type == "markdown"
    known = [c.metadata.nbgrader.grade_id for c in notebook.cells if "nbgrader" in c.metadata]
    candidates = [
        i for i, g in enumerate(given)
        if i not in used and i not in standing
        and g["grade_id"] not in known and (g["type"] == "markdown") == text
    ]  # fmt: skip
    defining = [
        i for i in candidates
        if wanted and wanted <= given[i]["names"] and not _same(given[i], cell)
    ]  # fmt: skip
    if defining:
        if named:
            notes.append(f"作答单元格 {name} 没有动过；同样的内容写在了别的单元格里，用了那一个。")
        return defining[-1]
    if named:
        return named[-1]
    likest = _likest(cell, given, candidates)
    return likest if likest is not None else _between(cell, notebook, place, candidates)


def _likest(cell: NotebookNode, given: list[dict], candidates: list[int]) -> int | None:
    best, chosen = 0.6, None
    for i in candidates[:MAX_CANDIDATES]:
        if len(given[i]["source"]) <= MAX_COMPARED:
            like = difflib.SequenceMatcher(None, cell.source, given[i]["source"])
            if like.real_quick_ratio() > best and like.quick_ratio() > best and like.ratio() > best:
                best, chosen = like.ratio(), i
    return chosen


def _between(
    cell: NotebookNode, notebook: NotebookNode, place: dict[str, int], candidates: list[int]
) -> int | None:
    """The only candidate after the cell that came before this one, and before the one that came next."""
    position = next(p for p, c in enumerate(notebook.cells) if c is cell)
    before = [place[c.id] for c in notebook.cells[:position] if c.id in place]
    after = [place[c.id] for c in notebook.cells[position + 1 :] if c.id in place]
    low, high = max(before, default=-1), min(after, default=float("inf"))
    left = [i for i in candidates if low < i < high]
    return left[0] if len(left) == 1 else None


def _defines(source: str) -> set[str]:
    """Names that a piece of code binds at its top level. Not parsed: it may hold magics, errors, anything."""
    if len(source) >= MAX_SPLIT:
        return set()
    return {name for pair in DEFINITIONS.findall(source) for name in pair if name}


def _insert_extras(
    notebook: NotebookNode, given: list[dict], place: dict[str, int], used: set[int], answers: dict[str, int],
    notes: list[str],
) -> None:  # fmt: skip
    """Code that stands in no master cell, or in an edited ordinary one, after the cell that it followed.

    What an editor split off the front of an answer runs right before the rest.
    """
    by_index = {i: cell_id for cell_id, i in place.items()}
    cells = {cell.id: cell for cell in notebook.cells}
    named = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    before: dict[str, list[NotebookNode]] = {}
    after: dict[str | None, list[NotebookNode]] = {}
    last: str | None = None
    for i, submitted in enumerate(given):
        cell_id = by_index.get(i)
        if cell_id is not None:
            last = cell_id
        if i in used or submitted["type"] not in ("code", None) or not submitted["source"].strip():
            continue
        name = _text(submitted["grade_id"])
        earlier = i < answers.get(name, 0)
        if name in named and _is_copy(submitted, named[name], earlier):
            continue
        if earlier and named[name].cell_type == "code":
            piece = nbformat.v4.new_code_cell(submitted["source"], id=f"piece-{i}")
            before.setdefault(name, []).append(piece)
            continue
        if cell_id is not None:
            standing = cells[cell_id]
            experiment = "experiment" in standing.metadata.get("tags", [])
            if experiment and NOT_RUN not in notes and submitted["names"] - _defines(standing.source):
                notes.append(NOT_RUN)
            if experiment or "nbgrader" in standing.metadata or _same(submitted, standing):
                continue
        extra = nbformat.v4.new_code_cell(submitted["source"], id=f"{EXTRA}{i}")
        after.setdefault(last, []).append(extra)
    if before:
        notes.append(f"作答单元格 {'、'.join(before)} 被拆成了几个，按原来的顺序一起运行。")
    ordered = list(after.get(None, []))
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        ordered += [*before.get(name, []), cell, *after.get(cell.id, [])]
    notebook.cells = ordered


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_copy(submitted: dict[str, Any], cell: NotebookNode, earlier: bool) -> bool:
    """Whether a submitted cell that bears the name of ``cell`` is another version of it.

    Not where ``cell`` makes a name anew from what an ``earlier`` one made: ``class A(A)``, ``a = dict(a)``.
    """
    shared = _defines(cell.source) & submitted["names"]
    anew = (rf"^(?:class +{name} *\(.*|{name} *=.*)\b{name}\b" for name in shared if earlier)
    again = any(re.search(pattern, cell.source, re.MULTILINE) for pattern in anew)
    return not is_solution(cell) or (bool(shared) and not again)
