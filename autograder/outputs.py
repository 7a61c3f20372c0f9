"""What student code showed, as outputs that are valid and harmless whatever the child sent."""

from typing import Any

import nbformat
from nbformat import NotebookNode

SHOWN = ("text/plain", "image/png", "image/jpeg", "application/json")
"""What is kept: nothing that would run or load something in the browser of whoever looks at it."""
MAX_DEPTH = 20
OMITTED = "（输出过多，已省略）"


def clean(given: Any, room: int) -> list[NotebookNode]:
    """Valid nbformat outputs of at most ``room`` characters, and a note where something was left out."""
    kept: list[NotebookNode] = []
    for output in given if isinstance(given, list) else ():
        made = _clean(output) if isinstance(output, dict) else None
        if made is None:
            continue
        room -= size([made])
        if room < 0:
            kept.append(nbformat.v4.new_output("stream", name="stdout", text=OMITTED))
            break
        kept.append(made)
    return kept


def size(given: list[NotebookNode]) -> int:
    """Characters, near enough."""
    return sum(len(str(value)) for output in given for value in output.values())


def _clean(output: dict[str, Any]) -> NotebookNode | None:
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return nbformat.v4.new_output("stream", name=name, text=str(output.get("text")))
    if kind == "error":
        lines = output.get("traceback")
        lines = [str(line) for line in lines] if isinstance(lines, list) else []
        named = {key: str(output.get(key)) for key in ("ename", "evalue")}
        return nbformat.v4.new_output("error", traceback=lines, **named)
    data = output.get("data")
    if kind not in ("display_data", "execute_result") or not isinstance(data, dict):
        return None
    shown = {mime: data[mime] for mime in SHOWN if mime in data and _plain(mime, data[mime])}
    if not shown:
        return None
    return nbformat.v4.new_output(kind, shown)


def _plain(mime: str, value: Any) -> bool:
    return _shallow(value) if mime == "application/json" else isinstance(value, str)


def _shallow(value: Any, depth: int = MAX_DEPTH) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_shallow(item, depth - 1) for item in items)
    return not isinstance(value, float) or abs(value) < float("inf")
