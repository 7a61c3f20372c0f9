"""What others wrote, made harmless for a terminal and for a spreadsheet."""

import re

CONTROL = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""For a class of a pattern: what moves the cursor, ends a line, turns the direction, or is half a character."""
_CONTROL = re.compile(f"[{CONTROL}]")
_FORMULA = re.compile(r"'*(\s*[=+@＝＋－＠-]|[\t\r\n])")


def shown(text: str, keep: str = "") -> str:
    """The text with every control character but those in ``keep`` written out, as ``\\x1b``."""
    return _CONTROL.sub(lambda c: c[0] if c[0] in keep else ascii(c[0])[1:-1], text)


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """What :func:`guarded` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
