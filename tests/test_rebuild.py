"""Whatever is handed in, rebuilding gives the master with the student's own sources, or says Unreadable."""

import copy
import json
import random
import re
import time

import nbformat
import pytest
from conftest import COURSE, LESSON, answered, as_bytes, code_cell, find, marks, released, source
from nbconvert import HTMLExporter

from autograder import gradebook
from autograder.rebuild import Rebuilt, Unreadable, rebuild
from rmslab.checks import LESSONS

MASTER = gradebook.master(COURSE, LESSON)
ANSWER = "rmsnorm-class"


def made(notebook, lesson: str = LESSON) -> Rebuilt:
    master = MASTER if lesson == LESSON else gradebook.master(COURSE, lesson)
    return rebuild(master, notebook if isinstance(notebook, bytes) else as_bytes(notebook))


def sources(rebuilt: Rebuilt) -> list[str]:
    return [cell.source for cell in rebuilt.notebook.cells]


def answer(rebuilt: Rebuilt) -> str:
    return next(
        c.source for c in rebuilt.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == ANSWER
    )


def extras(rebuilt: Rebuilt) -> list[str]:
    return [cell.source for cell in rebuilt.notebook.cells if cell.id.startswith("extra-")]


WRITTEN = source(find(answered(), ANSWER))


def strip(notebook, *keys: str):
    for cell in notebook["cells"]:
        for key in keys:
            cell.pop(key, None)
        cell["metadata"] = {}
    return notebook


def version_3(notebook):
    """The same notebook as nbformat 3 writes it."""
    cells = []
    for cell in notebook["cells"]:
        text = source(cell).splitlines(keepends=True)
        key = "input" if cell["cell_type"] == "code" else "source"
        cells.append({"cell_type": cell["cell_type"], key: text, "metadata": cell["metadata"], "outputs": []})
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}


def test_solved_and_untouched(notebook):
    assert answer(made(notebook)) == WRITTEN and not made(notebook).blank and not made(notebook).notes
    assert made(released()).blank == {ANSWER} and not extras(made(released()))


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_survives_loss_of_all_metadata(lesson):
    want = made(answered(lesson), lesson)
    assert not want.blank
    for keys in ((), ("id",)):
        bare = made(strip(answered(lesson), *keys), lesson)
        assert sources(bare) == sources(want) and not bare.blank
    assert (
        made(strip(released(lesson), "id"), lesson).blank == made(released(lesson), lesson).blank != frozenset()
    )


ENCODINGS = {
    "bom": lambda n: b"\xef\xbb\xbf" + as_bytes(n),
    "gbk": lambda n: json.dumps(n, ensure_ascii=False).encode("gb18030"),
    "ascii": lambda n: json.dumps(n).encode(),
    "nbformat-3": lambda n: as_bytes(version_3(n)),
    "crlf": lambda n: as_bytes(n).replace(rb"\n", rb"\r\n"),
    "crlf-file": lambda n: json.dumps(n, indent=1).replace("\n", "\r\n").encode(),
    "no-version": lambda n: as_bytes({"cells": n["cells"]}),
    "utf-16-without-bom": lambda n: json.dumps(n).encode("utf-16-le"),
    "utf-32": lambda n: json.dumps(n).encode("utf-32"),
    "bom-twice": lambda n: b"\xef\xbb\xbf" * 2 + as_bytes(n),
    "padded-with-nul": lambda n: as_bytes(n) + bytes(4096),
    "rest-of-an-older-file": lambda n: as_bytes(n) + as_bytes(n)[-700:],
    "both-cells-and-worksheets": lambda n: as_bytes(n | {"worksheets": []}),
    "lines-without-ends": lambda n: as_bytes(
        n | {"cells": [c | {"source": source(c).split("\n")} for c in n["cells"]]}
    ),
    "source-as-string": lambda n: as_bytes(n | {"cells": [c | {"source": source(c)} for c in n["cells"]]}),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_encodings_and_formats(encode, notebook):
    rebuilt = made(encode(notebook))
    assert sources(rebuilt) == sources(made(notebook)) and not rebuilt.notes and not rebuilt.blank


def test_a_few_bytes_that_cannot_be_read_are_replaced_and_told(notebook):
    find(notebook, ANSWER)["source"] = f"{WRITTEN}\n# café 嗨"
    for at in ("é", "嗨"):
        rebuilt = made(as_bytes(notebook).replace(at.encode(), b"\xe9"))
        assert answer(rebuilt).startswith(WRITTEN) and not rebuilt.blank and "\ufffd" in rebuilt.notes[0]


def test_master_decides_everything_but_sources(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "experiment"]
        cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "10.0"}}]
    find(notebook, "rmsnorm-norm")["metadata"]["nbgrader"] |= {
        "points": 100,
        "grade": False,
        "schema_version": 99,
    }
    find(notebook, ANSWER)["metadata"]["nbgrader"]["locked"] = True
    notebook["metadata"] = {"kernelspec": {"name": "evil"}}
    rebuilt = made(notebook).notebook
    assert [c.metadata for c in rebuilt.cells] == [c.metadata for c in MASTER.cells]
    assert rebuilt.metadata == MASTER.metadata
    nbformat.validate(rebuilt)


def test_edited_test_cell_is_restored_and_told(notebook):
    find(notebook, "rmsnorm-norm")["source"] = "10.0"
    rebuilt = made(notebook)
    assert sources(rebuilt) == sources(made(answered()))
    assert any("rmsnorm-norm" in note for note in rebuilt.notes)


def test_a_text_answer_cannot_run_anything_where_it_is_read():
    """Formgrader shows it in the instructor's browser, beside the instructor's server."""
    lesson = "03-geometry"
    work = answered(lesson)
    text = "a < b，$x<y$ <script>alert(1)</script><img src=x onerror=alert(1)>\n[网页](https://example.com/)\n"
    text += "[点](javascript:alert(1)) [点](java&#115;cript:alert(1)) [点][x]\n\n[x]: javascript:alert(1)"
    find(work, "geometry-explain")["source"] = text
    page = HTMLExporter().from_notebook_node(made(work, lesson).notebook)[0]
    mine = page[page.index("a &lt; b") :][:600].partition("</div>")[0]
    assert re.findall(r"<(?:script|img|a) [^>]*>", mine) == ['<a href="https://example.com/">']


def test_pictures_pasted_into_a_text_answer_are_kept(monkeypatch):
    """Those that can hold no script; and where they are too large, the rest of the notebook all the same."""
    lesson = "03-geometry"
    work = answered(lesson)
    cell = find(work, "geometry-explain")
    cell["source"] = "看图 ![球面](attachment:球面.png) ![坏](attachment:a.svg) ![坏](attachment:b.png)"
    cell["source"] += " ![空](attachment:a%20b.png)\n![多](attachment:picture-3)\n\n![x][x]\n\n[x]: attachment:y.png"
    bad = {"a.svg": {"image/svg+xml": "PHN2Zz4="}, "b.png": {"image/png": '"><script>alert(1)</script>'}}
    odd = {"c.png": "text", "d.png": {"image/png": 7}, "e.png": None}
    good = {"球面.png": {"image/png": ["iVBORw0K", "Ggo="]}, "a b.png": {"image/png": "R0lGODlh"}}
    cell["attachments"] = good | bad | odd
    rebuilt = made(work, lesson)
    nbformat.validate(rebuilt.notebook)
    kept = next(c for c in rebuilt.notebook.cells if c.id == "geometry-explain")
    assert len(kept.attachments) == 2 and not rebuilt.notes
    page = HTMLExporter().from_notebook_node(rebuilt.notebook)[0]
    assert re.findall('src="data:image/png;base64,([^"]*)"', page)[-2:] == ["iVBORw0KGgo=", "R0lGODlh"]
    assert "<script>alert" not in page

    monkeypatch.setattr("autograder.prose.MAX_CHARACTERS", 10)
    rebuilt = made(work, lesson)
    assert "看图" in kept.source and any("geometry-explain" in note for note in rebuilt.notes)
    assert not any("attachments" in c for c in rebuilt.notebook.cells)
    HTMLExporter().from_notebook_node(rebuilt.notebook)


def test_many_pictures_take_no_time():
    """Their number is bounded, and every link is looked at once."""
    work = answered("03-geometry")
    cell = find(work, "geometry-explain")
    cell["source"] = "](attachment:" * 200_000
    cell["attachments"] = {f"p{i}": {"image/png": "A"} for i in range(5000)}
    spent = time.process_time()
    rebuilt = made(work, "03-geometry")
    assert time.process_time() - spent < 10 and any("图片太多" in note for note in rebuilt.notes)


@pytest.mark.parametrize("named", [True, False], ids=["split", "new"])
@pytest.mark.parametrize("placeholder", ["", "as released", "worked"])
def test_a_text_answer_in_more_than_one_cell(named, placeholder):
    """Split by the editor, which clones the metadata, or written below: a person gets to see all of it."""
    lesson, name = "03-geometry", "geometry-explain"
    work = answered(lesson)
    cell = find(work, name)
    asked = source(find(released(lesson), name))
    cell["source"] = {"": "", "as released": asked, "worked": "第一句。"}[placeholder]
    more = [cell | {"id": f"new{i}", "source": text} for i, text in enumerate(("第二句。", "第二句。", "第三句。"))]
    if not named:
        more = [{"cell_type": "markdown", "metadata": {}, "source": c["source"], "id": c["id"]} for c in more]
    place = work["cells"].index(cell) + 1
    work["cells"][place:place] = more
    rebuilt = made(work, lesson)
    kept = next(c for c in rebuilt.notebook.cells if c.id == name)
    want = "第二句。\n\n第三句。"
    assert kept.source == ("第一句。\n\n" + want if placeholder == "worked" else want)
    assert name not in rebuilt.blank and any("放到一起" in note for note in rebuilt.notes)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_text_answer_not_written_is_blank(emptied):
    lesson, name = "03-geometry", "geometry-explain"
    work = answered(lesson)
    find(work, name)["source"] = "" if emptied else source(find(released(lesson), name))
    assert made(work, lesson).blank == {name}


@pytest.mark.parametrize("where", ["above", "at the end", "in the question", "in a code cell below", "alone"])
def test_a_text_answer_elsewhere_reaches_a_person(where):
    lesson, name, text = "03-geometry", "geometry-explain", "减均值是投影，除以长度是拉到球面上。"
    work = answered(lesson)
    cell = find(work, name)
    cell["source"] = source(find(released(lesson), name))
    new = {"cell_type": "markdown", "metadata": {}, "source": text, "id": "new"}
    place = work["cells"].index(cell)
    if where == "above":
        work["cells"].insert(place, new)
    elif where == "in the question":
        above = next(c for c in reversed(work["cells"][:place]) if c["cell_type"] == "markdown")
        above["source"] = source(above) + "\n\n" + text
    elif where == "in a code cell below":
        work["cells"].insert(place + 1, code_cell(text) | {"id": "new"})
    else:
        work["cells"].append(new)
    if where == "alone":
        work["cells"].remove(cell)
    rebuilt = made(work, lesson)
    kept = next(c for c in rebuilt.notebook.cells if c.id == name)
    assert text in kept.source and name not in rebuilt.blank and not extras(rebuilt)
    assert any(name in note and "别处" in note for note in rebuilt.notes)


def test_signs_in_formulas_and_code_stay_signs():
    lesson, name = "03-geometry", "geometry-explain"
    work = answered(lesson)
    find(work, name)["source"] = "$a<b$，`if a<b:`，$$\\mu<n$$"
    page = HTMLExporter().from_notebook_node(made(work, lesson).notebook)[0]
    assert "$a&lt; b$" in page and "if a&lt; b:" in page and "&amp;lt;" not in page


def test_answers_merged_into_one_cell():
    """Two cells and the check between them, merged by the editor: what is written there counts for both."""
    lesson = "03-geometry"
    work = answered(lesson)
    first, second = find(work, "geometry-project-answer"), find(work, "geometry-sphere-answer")
    first["source"] = source(first) + "\n\n" + source(second)
    work["cells"].remove(second)
    rebuilt = made(work, lesson)
    assert not rebuilt.blank and any("并进了" in note for note in rebuilt.notes)
    assert [c.source for c in rebuilt.notebook.cells if c.id == "geometry-sphere-answer"] == [""]


def test_code_in_a_text_cell_is_said(notebook):
    cell = find(notebook, ANSWER)
    notebook["cells"].append({"cell_type": "markdown", "metadata": {}, "source": f"```python\n{WRITTEN}\n```"})
    cell["source"] = source(find(released(), ANSWER))
    rebuilt = made(notebook)
    assert rebuilt.blank == {ANSWER} and any("文字单元格" in note for note in rebuilt.notes)


@pytest.mark.parametrize("front", ["import math", "def rms(x): return x", "class Base: pass", "%matplotlib inline"])
def test_an_answer_that_was_split_is_run_piece_by_piece(front, notebook):
    """The editor's split clones the metadata: the front runs before the rest, and is no copy of it."""
    cell = find(notebook, ANSWER)
    place = notebook["cells"].index(cell)
    notebook["cells"].insert(place, cell | {"source": front, "id": "front"})
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN and not rebuilt.blank and not extras(rebuilt)
    position = next(i for i, c in enumerate(rebuilt.notebook.cells) if c.source == WRITTEN)
    assert rebuilt.notebook.cells[position - 1].source == front
    assert any("拆成" in note for note in rebuilt.notes) and not any("出现了" in note for note in rebuilt.notes)
    nbformat.validate(rebuilt.notebook)


def test_an_answer_that_builds_on_its_own_front(notebook):
    cell = find(notebook, ANSWER)
    front, rest = source(cell), "class RMSNorm(RMSNorm):\n    pass"
    cell["source"] = rest
    notebook["cells"].insert(notebook["cells"].index(cell), cell | {"source": front, "id": "front"})
    rebuilt = made(notebook)
    assert answer(rebuilt) == rest and front in sources(rebuilt)


def test_an_answer_of_two_functions_split_between_them():
    lesson, name = "02-hand-calculation", "hand-python-answer"
    work = answered(lesson)
    cell = find(work, name)
    first, second = source(cell).split("def rmsnorm", 1)
    cells = [cell | {"source": first, "id": "first"}, cell | {"source": "def rmsnorm" + second}]
    place = work["cells"].index(cell)
    work["cells"][place : place + 1] = cells
    ordered = [c.source.strip() for c in made(work, lesson).notebook.cells if "def " in c.source]
    assert ordered.index(first.strip()) + 1 == ordered.index(("def rmsnorm" + second).strip())


def test_definitions_in_an_experiment_are_not_run_and_this_is_said(notebook):
    cell = next(c for c in notebook["cells"] if "experiment" in c["metadata"].get("tags", []))
    cell["source"] = source(cell) + "\ndef helper(x):\n    return x\n"
    rebuilt = made(notebook)
    assert not extras(rebuilt) and any("不运行实验" in note for note in rebuilt.notes)


def test_long_integers_are_no_reason_to_refuse(notebook):
    text = json.dumps(notebook).replace('"nbformat": 4', '"n": ' + "9" * 5000 + ', "nbformat": 4', 1)
    assert answer(made(text.encode())) == WRITTEN


def test_deleted_test_cells_come_back(notebook):
    notebook["cells"] = [c for c in notebook["cells"] if not marks(c).get("grade")]
    assert sources(made(notebook)) == sources(made(answered()))


def test_deleted_solution_cell_is_blank(notebook):
    notebook["cells"].remove(find(notebook, ANSWER))
    rebuilt = made(notebook)
    assert rebuilt.blank == {ANSWER} and any(ANSWER in note for note in rebuilt.notes)
    assert sources(rebuilt) == [cell.source for cell in MASTER.cells]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_duplicated_solution_cell(order, notebook):
    """Copied, and one of the two worked on, or both: the last that was worked on counts."""
    cell = find(notebook, ANSWER)
    pair = [cell, cell | {"source": source(find(released(), ANSWER))}]
    at = notebook["cells"].index(cell)
    notebook["cells"][at : at + 1] = [copy.deepcopy(pair[i]) for i in order]
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN and not rebuilt.blank and rebuilt.notes
    notebook["cells"][at]["source"], notebook["cells"][at + 1]["source"] = WRITTEN, WRITTEN + "\n# 2"
    assert answer(made(notebook)) == WRITTEN + "\n# 2"


def test_answer_written_into_an_added_cell_is_found(notebook):
    at = notebook["cells"].index(find(notebook, ANSWER))
    find(notebook, ANSWER)["source"] = source(find(released(), ANSWER))
    notebook["cells"].insert(at + 1, code_cell(WRITTEN))
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN and not rebuilt.blank and rebuilt.notes and not extras(rebuilt)


@pytest.mark.parametrize("before", ["%%time", "%matplotlib inline\n!ls", "x = !ls", "def broken(:"])
def test_answer_in_an_added_cell_that_is_no_plain_python_is_found(before, notebook):
    find(notebook, ANSWER)["source"] = source(find(released(), ANSWER))
    notebook["cells"].append(code_cell(f"{before}\n{WRITTEN}"))
    rebuilt = made(notebook)
    assert answer(rebuilt).endswith(WRITTEN) and not rebuilt.blank and not extras(rebuilt)


@pytest.mark.parametrize("keep", [True, False])
def test_answer_merged_into_an_ordinary_cell_is_found(keep, notebook):
    first = next(c for c in notebook["cells"] if c["cell_type"] == "code" and not marks(c))
    first["source"] = f"{source(first)}\n\n{WRITTEN}"
    if keep:
        find(notebook, ANSWER)["source"] = source(find(released(), ANSWER))
    else:
        notebook["cells"].remove(find(notebook, ANSWER))
    assert answer(made(notebook)).endswith(WRITTEN) and not made(notebook).blank


@pytest.mark.parametrize("broken", ["def f(:\n  pass", "print(1)"])
def test_answer_without_metadata_that_looks_like_nothing_is_found_by_its_place(broken, notebook):
    find(notebook, ANSWER)["source"] = broken
    assert answer(made(strip(notebook, "id"))) == broken


def test_unknown_and_odd_grade_ids(notebook):
    notebook["cells"].insert(
        3, code_cell("known = 1", nbgrader={"grade_id": "no-such", "grade": True, "points": 5})
    )
    notebook["cells"].insert(4, code_cell("odd = 1", nbgrader={"grade_id": ["list"]}))
    notebook["cells"].insert(5, code_cell("odder = 1", nbgrader="text"))
    rebuilt = made(notebook)
    assert extras(rebuilt) == ["known = 1", "odd = 1", "odder = 1"]
    assert all("nbgrader" not in c.metadata for c in rebuilt.notebook.cells if c.id.startswith("extra-"))


def test_switched_cell_types(notebook):
    find(notebook, ANSWER)["cell_type"] = "raw"
    find(notebook, "rmsnorm-norm")["cell_type"] = "markdown"
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN
    assert [c.cell_type for c in rebuilt.notebook.cells] == [c.cell_type for c in MASTER.cells]


def test_added_cells_stay_where_they_were(notebook):
    at = notebook["cells"].index(find(notebook, ANSWER))
    notebook["cells"].insert(at, code_cell("import math", tags=["experiment"]))
    notebook["cells"].insert(at + 2, code_cell("helper = 2"))
    notebook["cells"].insert(0, code_cell("first = 0"))
    rebuilt = made(notebook)
    order = sources(rebuilt)
    assert order[0] == "first = 0"
    assert order.index("import math") + 1 == order.index(WRITTEN) == order.index("helper = 2") - 1
    assert all(not c.metadata for c in rebuilt.notebook.cells if c.id.startswith("extra-"))


def test_edited_ordinary_cell_is_kept_as_extra(notebook):
    cell = next(c for c in notebook["cells"] if source(c).startswith("import torch"))
    old, cell["source"] = source(cell), "import torch, math\nfrom torch import nn"
    order = sources(made(notebook))
    assert order.index(cell["source"]) == order.index(old) + 1


def test_reordered_cells_change_nothing_but_extras(notebook):
    notebook["cells"].reverse()
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN and not rebuilt.blank and not extras(rebuilt)


def test_cells_that_are_none(notebook):
    notebook["cells"][2:2] = [None, 7, "text", [], {}, {"cell_type": "code"}, {"cell_type": {}, "source": 3}]
    notebook["cells"].append({"cell_type": "code", "source": ["x = 1\n", 5, None], "metadata": [], "id": []})
    rebuilt = made(notebook)
    assert answer(rebuilt) == WRITTEN and extras(rebuilt) == ["x = 1\n"]


@pytest.mark.parametrize("text", ["\0", "\ud800", "\udfff\ud83d", "\x1b[0m"], ids=ascii)
def test_characters_that_no_file_can_hold(text, notebook):
    find(notebook, ANSWER)["source"] = f"{WRITTEN}\n# {text}"
    rebuilt = made(json.dumps(notebook).encode())
    assert answer(rebuilt).startswith(WRITTEN)
    nbformat.writes(rebuilt.notebook).encode()


def test_huge_cells_are_not_compared_forever(notebook):
    """Likeness takes time that grows with the square of the length."""
    filler = [code_cell(f"# {i}\n" + "value = 1\n" * 20_000) for i in range(5)]
    bare = strip(notebook, "id")
    bare["cells"] = [c for c in bare["cells"] if source(c) != WRITTEN] + filler
    assert made(bare).blank == {ANSWER}


def test_long_cells_are_looked_at_once():
    """Whatever is done for every pair of a submitted and a master cell must not grow with their length."""
    lesson = "02-hand-calculation"
    cells = [code_cell(f"x = 1\n{'y = 2' if i % 2 else '1 = z'}\n" * 6_000) for i in range(60)]
    before = time.process_time()
    assert len(made({"cells": cells}, lesson).blank) == 6
    assert time.process_time() - before < 5


UNREADABLE = {
    "empty": b"",
    "blank": b" \n\t ",
    "bom-only": b"\xef\xbb\xbf",
    "cut": as_bytes(answered())[:-200],
    "not-json": "这是一份作业".encode(),
    "list": b"[1, 2]",
    "null": b"null",
    "number": b"1e999",
    "no-cells": b'{"metadata": {}}',
    "cells-no-list": b'{"cells": {"0": {}}}',
    "deep": b"[" * 100_000,
    "zip": b"PK\x03\x04" + bytes(100),
    "html": b"<!doctype html><html><body>login</body></html>",
    "millions-of-values": b'{"cells": [], "x": [' + b"[]," * 3_000_000 + b"0]}",
    "long-number": b'{"cells": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_says_why_in_chinese(data):
    with pytest.raises(Unreadable) as caught:
        made(data)
    assert any("\u4e00" <= c <= "\u9fff" for c in str(caught.value))


def test_mutated_bytes_never_raise_anything_else():
    """Bytes flipped, cut, repeated, inserted: a notebook comes out, or Unreadable."""
    good, chance, readable = as_bytes(answered()), random.Random(1), 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.choice((1, 1, 2, 8, 64))):
            i, j = sorted(chance.randrange(len(data) + 1) for _ in range(2))
            match chance.randrange(4):
                case 0:
                    data[i : i + 1] = bytes([chance.randrange(256)])
                case 1:
                    del data[i : min(j, i + 200)]
                case 2:
                    data[i:i] = data[j : j + 60]
                case 3:
                    data[i:i] = chance.choice((b'"', b"{", b"]", b"null", b"\xff", b"\\ud800", b"\r\n"))
        try:
            rebuilt = made(bytes(data))
        except Unreadable:
            continue
        readable += 1
        nbformat.writes(rebuilt.notebook).encode()
    assert readable > 20


ODD_VALUES = (
    None,
    0,
    -1.5,
    True,
    "",
    "\ud800",
    "x" * 1000,
    [],
    {},
    [[]],
    {"a": {}},
    [None],
    ["code"],
    float("inf"),
)


def test_mutated_values_never_raise():
    """Any value anywhere in the document replaced by any other kind of value."""
    chance = random.Random(2)
    good = answered()
    for _ in range(400):
        document = copy.deepcopy(good)
        for _ in range(chance.choice((1, 1, 3, 10))):
            node = document
            while True:
                keys = list(node) if isinstance(node, dict) else list(range(len(node)))
                if not keys:
                    break
                key = chance.choice(keys)
                if isinstance(node[key], dict | list) and chance.random() < 0.85:
                    node = node[key]
                    continue
                node[key] = copy.deepcopy(chance.choice(ODD_VALUES))
                break
        try:
            rebuilt = made(json.dumps(document).encode())
        except Unreadable:
            continue
        nbformat.writes(rebuilt.notebook).encode()
        assert [c for c in rebuilt.notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
