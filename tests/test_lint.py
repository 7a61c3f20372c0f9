"""Every lesson keeps its promises to the reader: structure, pictures with words, predictions, sources."""

import ast
import itertools
import re
from html.parser import HTMLParser

import pytest
from conftest import COURSE, marks, released, solved, source

from rmslab.checks import steps_of

LESSONS = COURSE.lessons()
lessons = pytest.mark.parametrize("lesson", LESSONS)
HANZI = re.compile(r"[\u4e00-\u9fff]")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


class Images(HTMLParser):
    """The alternative texts of the images, and how many figures have no image."""

    def __init__(self, html: str):
        super().__init__()
        self.alts, self.figures, self.depth = [], 0, 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.alts.append(dict(attributes).get("alt") or "")
        self.figures += tag == "figure"


def markdown(notebook) -> list[str]:
    return [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def prose(notebook) -> str:
    """The text cells without code in them."""
    return re.sub(r"(?ms)^(```|~~~).*?^\1", "", "\n\n".join(markdown(notebook)))


def code(notebook) -> list[str]:
    return [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def data_of(notebook) -> list[dict]:
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    return [output["data"] for c in cells for output in c["outputs"] if "data" in output]


@lessons
def test_one_title_and_no_level_left_out(lesson):
    for notebook in (released(lesson), solved(lesson)):
        text = prose(notebook)
        levels = [len(mark) for mark in re.findall(r"^(#{1,6}) ", text, re.M)]
        levels += [int(level) for level in re.findall(r"<h([1-6])", text)]
        assert levels.count(1) == 1 and levels[0] == 1
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


@lessons
def test_opens_and_closes_as_every_lesson_does(lesson):
    notebook = released(lesson)
    first, text = markdown(notebook)[0], prose(notebook)
    assert re.search(r"约 \d+ 分钟", first) and "你能够" in first
    if steps_of(lesson):
        points = sum(step.points for step in steps_of(lesson))
        assert f"{points:g} 分" in first
        assert "## 小结" in text and "接下来" in text
        assert any(c.startswith("progress(") for c in code(notebook))
        closing = text[text.index("## 小结") :]
        assert len(re.findall(r"^\d\. \*\*", closing, re.M)) == 3
    if lesson > "01":
        assert len(re.findall(r"<details><summary>\d", first)) == 2


@lessons
def test_every_picture_has_words(lesson):
    notebook = solved(lesson)
    for data in data_of(notebook):
        assert "image/png" not in data and "image/svg+xml" not in data, "a picture without alternative text"
        html = "".join(data.get("text/html", ""))
        found = Images(html)
        assert found.figures <= len(found.alts)
        for alt in found.alts:
            assert len(alt) >= 30 and HANZI.search(alt), alt
        if found.figures:
            assert "<figcaption" in html
            assert len("".join(data["text/plain"])) >= 30  # for readers without HTML
    for text in markdown(notebook):
        assert all(alt.strip() for alt in re.findall(r"!\[(.*?)\]\(", text))
        assert all(len(alt) >= 5 for alt in Images(text).alts)


@lessons
def test_a_picture_is_announced_by_a_sentence(lesson):
    """The text cell before a figure says what to look at."""
    before = ""
    for cell in released(lesson)["cells"]:
        if cell["cell_type"] == "markdown":
            before = source(cell)
        elif re.search(r"figures\.\w+\(", source(cell)):
            assert re.search(r"看|下图|图", before), source(cell)


@lessons
def test_predictions_come_first(lesson):
    """What is shown as a prediction was asked for in an earlier cell, as a blank to fill in."""
    asked: set[str] = set()
    shown = 0
    for text in code(released(lesson)):
        tree = ast.parse(text)
        for call in [n for n in ast.walk(tree) if isinstance(n, ast.Call)]:
            if isinstance(call.func, ast.Name) and call.func.id == "predicted":
                names = {n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name)}
                assert names and names <= asked, ast.unparse(call)
                shown += 1
        for node in tree.body:
            blank = any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(node))
            if isinstance(node, ast.Assign) and blank:
                asked |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    assert shown or not steps_of(lesson)


@lessons
def test_claims_have_sources(lesson):
    if not steps_of(lesson):
        return
    text = prose(released(lesson))
    body, found, sources = text.partition("**资料来源**")
    assert found and ARXIV.search(sources)
    assert set(ARXIV.findall(body)) <= set(ARXIV.findall(sources))


@lessons
def test_tables_have_a_header(lesson):
    for data in data_of(solved(lesson)):
        for table in re.findall(r"<table.*?</table>", "".join(data.get("text/html", "")), re.S):
            assert "<th" in table


@lessons
def test_nobody_reads_the_rubric(lesson):
    """What stands in a cell that a person grades is the instructor's; the student gets an empty one."""
    given = {marks(c)["grade_id"]: source(c) for c in released(lesson)["cells"] if marks(c)}
    whole = "\n".join(source(c) for c in released(lesson)["cells"])
    for cell in solved(lesson)["cells"]:
        if marks(cell).get("grade") and marks(cell).get("solution"):
            assert cell["cell_type"] == "markdown" and "评分" in source(cell) and marks(cell)["points"] > 0
            assert given[marks(cell)["grade_id"]] == "在这里写你的回答。"
            lines = [line.strip() for line in source(cell).split("\n") if len(line.strip()) > 8]
            assert not [line for line in lines if line in whole]
