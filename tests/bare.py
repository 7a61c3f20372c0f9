"""Run a notebook as a cloud image would: nothing but torch, numpy, matplotlib, IPython and ipywidgets.

``python bare.py NOTEBOOK CHECKOUT``, started in the notebook's folder; prints what its code cells showed.
"""

import importlib.metadata
import json
import re
import sys
from pathlib import Path

ALLOWED = ("torch", "numpy", "matplotlib", "ipython", "ipywidgets")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure() -> set[str]:
    """The allowed distributions and everything that they require."""
    found, todo = set(), list(ALLOWED)
    while todo:
        name = plain(todo.pop())
        if name in found:
            continue
        found.add(name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        todo += [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]
    return found


class Blocked:
    """An import finder that does not see distributions that are not allowed, as if they were not installed."""

    def __init__(self, finders: list) -> None:
        self.finders = finders
        allowed = closure()
        owners = importlib.metadata.packages_distributions()
        self.names = {m for m, names in owners.items() if not allowed & set(map(plain, names))}
        self.names |= {
            "autograder",
            "nbgrader",
            "jupytext",
            "jupyterlab",
            "notebook",
            "nbconvert",
            "jupyter_server",
        }
        self.names -= {"rmslab"}

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name.split(".")[0] in self.names:
            return None
        specs = (f.find_spec(name, path, target) for f in self.finders if hasattr(f, "find_spec"))
        return next((spec for spec in specs if spec is not None), None)


def main(notebook: Path, checkout: str) -> None:
    # The checkout may hold the virtual environment: packages stay, whatever folder they are in.
    sys.path[:] = [p for p in sys.path if "site-packages" in p or not Path(p).resolve().is_relative_to(checkout)]
    blocked = Blocked([f for f in sys.meta_path if "editable" not in str(f).lower()])
    sys.meta_path[:] = [blocked]
    cells = json.loads(notebook.read_text("utf-8"))["cells"]

    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell, shown = InteractiveShell.instance(), []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        with capture_output() as captured:
            done = shell.run_cell("".join(cell["source"]), store_history=True)
        error = done.error_before_exec or done.error_in_exec
        result = done.result
        shown.append({
            "grade_id": cell["metadata"].get("nbgrader", {}).get("grade_id"),
            "error": repr(error) if error else None,
            "text": repr(result),
            "html": result._repr_html_() if hasattr(result, "_repr_html_") else "",
            "stdout": captured.stdout,
            "stderr": captured.stderr,
        })  # fmt: skip
    import rmslab

    loaded = {name.split(".")[0] for name in sys.modules}
    report = {"cells": shown, "kit": rmslab.__file__, "blocked": sorted(blocked.names & loaded)}
    print(json.dumps({**report, "names": sorted(blocked.names)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
