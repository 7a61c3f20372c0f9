"""What student code showed, as outputs that are valid and harmless whatever the child sent."""

from typing import Any

from nbformat import NotebookNode

SHOWN = ("text/plain", "image/png", "image/jpeg", "application/json")
"""What is kept: nothing that would run or load something in the browser of whoever looks at it."""
MAX_DEPTH = 20
OMITTED = "（输出过多，已省略）"


def output(kind: str, **fields: Any) -> NotebookNode:
    """An output of nbformat 4, not validated again: that takes longer than running most cells."""
    return NotebookNode(output_type=kind, **fields)


def clean(given: Any, room: int) -> list[NotebookNode]:
    """Valid nbformat outputs of at most ``room`` characters, and a note where something was left out."""
    kept: list[NotebookNode] = []
    for one in given if isinstance(given, list) else ():
        made = _clean(one) if isinstance(one, dict) else None
        if made is None:
            continue
        room -= size([made])
        if room < 0:
            kept.append(output("stream", name="stdout", text=OMITTED))
            break
        kept.append(made)
    return kept


def size(given: list[NotebookNode]) -> int:
    """Characters, near enough."""
    return sum(len(str(value)) for one in given for value in one.values())


def _clean(given: dict[str, Any]) -> NotebookNode | None:
    kind = given.get("output_type")
    if kind == "stream":
        name = "stderr" if given.get("name") == "stderr" else "stdout"
        return output("stream", name=name, text=str(given.get("text")))
    if kind == "error":
        lines = given.get("traceback")
        lines = [str(line) for line in lines] if isinstance(lines, list) else []
        named = {key: str(given.get(key)) for key in ("ename", "evalue")}
        return output("error", traceback=lines, **named)
    data = given.get("data")
    if kind not in ("display_data", "execute_result") or not isinstance(data, dict):
        return None
    shown = {mime: data[mime] for mime in SHOWN if mime in data and _plain(mime, data[mime])}
    if not shown:
        return None
    more = {"execution_count": None} if kind == "execute_result" else {}
    return output(kind, data=shown, metadata={}, **more)


def _plain(mime: str, value: Any) -> bool:
    return _shallow(value) if mime == "application/json" else isinstance(value, str)


def _shallow(value: Any, depth: int = MAX_DEPTH) -> bool:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_shallow(item, depth - 1) for item in items)
    return not isinstance(value, float) or abs(value) < float("inf")
