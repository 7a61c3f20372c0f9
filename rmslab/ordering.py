"""Parsons problems: put lines of code in order, with tempting distractors. Not scored."""

from html import escape

import ipywidgets as widgets

from rmslab.catalogue import entry, text

# Code reads from the left, and whole: a button would centre it and cut it off.
CSS = (
    ".jupyter-button.widget-button.rms-line{text-align:left;white-space:normal;height:auto;min-height:28px;"
    "line-height:1.7}"
)


def feedback(task: str, letters: str) -> str:
    """What to say of an order given as letters, for example ``"ECFBH"``: the first thing to mend, only."""
    lines = {line["letter"]: line for line in entry("ordering", task, "lines")}
    total = sum(line["place"] > 0 for line in lines.values())
    for place, letter in enumerate(letters.upper().replace(" ", ""), 1):
        if place > total:
            return text("ordering", "long")
        line = lines.get(letter)
        label = text("ordering", "labels", str(place))
        if line is None or line["place"] not in (0, place):
            return text("ordering", "order", place=place, letter=letter, label=label)
        if line["place"] == 0:
            why = text("misconception", line["why"], "concept")
            return text("ordering", "distractor", place=place, letter=letter, why=why)
    if not letters.strip():
        return text("ordering", "empty")
    missing = total - len(letters.replace(" ", ""))
    return text("ordering", "short", n=missing) if missing > 0 else text("ordering", "right")


class Ordering(widgets.VBox):
    """The task as buttons: a line per button, an answer that grows, one sentence of feedback."""

    def __init__(self, task: str):
        self.task, self.letters = task, ""
        self.shown = widgets.HTML()
        self.said = widgets.HTML()
        buttons = [self._button(line) for line in entry("ordering", task, "lines")]
        undo = widgets.Button(description=text("ordering", "undo"), icon="undo")
        check = widgets.Button(description=text("ordering", "check"), icon="check", button_style="primary")
        undo.on_click(lambda _: self.choose(None))
        check.on_click(lambda _: self._say(feedback(self.task, self.letters)))
        intro = widgets.HTML(f"<style>{CSS}</style><p>{escape(text('ordering', 'intro'))}</p>")
        super().__init__([intro, *buttons, self.shown, widgets.HBox([undo, check]), self.said])
        self._draw()

    def _button(self, line: dict) -> widgets.Button:
        button = widgets.Button(
            description=f"{line['letter']}   {line['code']}",
            layout=widgets.Layout(width="44em", max_width="100%"),
            style={"font_family": "monospace"} if _styled() else {},
        )
        button.add_class("rms-line")
        button.on_click(lambda _: self.choose(line["letter"]))
        return button

    def choose(self, letter: str | None) -> None:
        """Append a line to the answer; None takes the last one back."""
        self.letters = self.letters[:-1] if letter is None else self.letters + letter
        self._say("")
        self._draw()

    def _say(self, sentence: str) -> None:
        self.said.value = f'<p role="status">{escape(sentence)}</p>'

    def _draw(self) -> None:
        code = {line["letter"]: line["code"] for line in entry("ordering", self.task, "lines")}
        items = "".join(f"<li><code>{escape(code[letter])}</code></li>" for letter in self.letters)
        body = f"<ol>{items}</ol>" if items else f"<p>{escape(text('ordering', 'empty'))}</p>"
        self.shown.value = f"<b>{escape(text('ordering', 'answer'))}</b>{body}"


def _styled() -> bool:
    """Whether this ipywidgets knows fonts of buttons (8 and later)."""
    return "font_family" in widgets.ButtonStyle().trait_names()


def ordering(task: str, letters: str | None = None) -> Ordering | None:
    """Show the task; or, where widgets do not run, print the feedback on ``letters``.

    Raises:
        LookupError: no such task.
    """
    if not isinstance(entry("ordering", task), dict) or "lines" not in entry("ordering", task):
        raise LookupError(f"没有叫 {task!r} 的排序题。")
    if letters is None:
        return Ordering(task)
    print(feedback(task, letters))
    return None
