"""The words that students and instructors read, one TOML file per language under ``messages/``.

An instructor may edit a file in place; ``{name}`` fields are filled with the student's own numbers.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("messages")
LANGUAGE = "zh"


class _Facts(dict):
    def __missing__(self, key: str) -> str:
        return ""


@cache
def load(language: str = LANGUAGE) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))


def entry(*path: str) -> Any:
    """The raw entry at ``path``, or None."""
    node: Any = load()
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def text(*path: str, **facts: Any) -> str:
    """The message at ``path`` with its fields filled.

    Raises:
        KeyError: there is no such message.
    """
    message = entry(*path)
    if not isinstance(message, str):
        raise KeyError(".".join(path))
    return fill(message, **facts)


def fill(message: str, **facts: Any) -> str:
    """The message with its fields filled; a field without a fact is left empty."""
    return message.format_map(_Facts(facts))
