"""A student's text answer, harmless where a person reads it: in a browser, beside the grader's own server."""

import json
import re
from typing import Any
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode

TAG = re.compile(r"<(?=[a-zA-Z/!?])")
"""Where a tag would begin; a space after it makes it a sign, in formulas and code as well."""
ATTACHED = re.compile(r"(?:attachment:)+([^\s)]*)")
LINK = re.compile(r"\]([(:])(?!\s*(?:https?://|#|attachment:))")
"""The middle of a Markdown link or picture that leads anywhere but to a web page, or to what came with it."""
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Kinds that can hold no script."""
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
MAX_PICTURES = 100
MAX_CHARACTERS = 20 * 2**20
"""Characters of all pictures of one notebook."""


def pictures(attachments: Any) -> dict[str, dict[str, str]]:
    """Pictures that were pasted into a cell, by name."""
    found: dict[str, dict[str, str]] = {}
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        for kind, data in kinds.items() if isinstance(kinds, dict) else ():
            data = "".join(map(str, data)) if isinstance(data, list) else data
            if kind in PICTURES and isinstance(data, str) and BASE64.fullmatch(data):
                found[name] = {kind: data}
    return found


def fits(given: dict[str, dict[str, str]]) -> bool:
    return len(given) <= MAX_PICTURES and len(json.dumps(given)) <= MAX_CHARACTERS


def write(cell: NotebookNode, text: str, given: dict[str, dict[str, str]]) -> None:
    """Put ``text`` and its pictures into ``cell``.

    The pictures get names that every reader finds; nbconvert stops at a link to one that it does not.
    """
    numbers = {name: number for number, name in enumerate(given, 1)}

    def renamed(link: re.Match) -> str:
        number = numbers.get(link[1]) or numbers.get(unquote(link[1]))
        return f"attachment:picture-{number}" if number else f"attachment {link[1]}"

    text = ATTACHED.sub(renamed, TAG.sub("< ", text))
    cell.source = LINK.sub(r"] \1", text)
    if given:
        cell.attachments = nbformat.from_dict({f"picture-{numbers[name]}": given[name] for name in given})
