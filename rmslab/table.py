"""Small tables for notebooks."""

from collections.abc import Iterable, Sequence

LEFT = 'style="text-align:left"'  # JupyterLab would set every cell to the right


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """HTML of a table whose cells are HTML already. An empty heading heads nothing."""
    head = "".join(f'<th scope="col" {LEFT}>{name}</th>' if name else "<td></td>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td {LEFT}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
