"""A free cloud machine as students get it: Python, torch, numpy, matplotlib, ipywidgets, ipykernel; no more.

No JupyterLab and no nbgrader of ours, and no Chinese fonts. The packages are those of this interpreter, linked
one by one into an environment of its own, so nothing else can be imported there.
"""

import functools
import http.server
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from conftest import ROOT
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

HAS = ("torch", "numpy", "matplotlib", "ipywidgets", "ipykernel")
FONTS = "/usr/share/fonts"


def closure(names: tuple[str, ...]) -> dict[str, importlib.metadata.Distribution]:
    """These distributions and everything installed that they require."""
    found: dict[str, importlib.metadata.Distribution] = {}
    todo = list(names)
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name not in found:
            try:
                found[name] = importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            lines = found[name].requires or []
            todo += [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]
    return found


class Cloud:
    """The machine: its interpreter, and notebooks run on it."""

    def __init__(self, folder: Path):
        venv.create(folder / "python", symlinks=True)
        packages = next((folder / "python" / "lib").glob("python*/site-packages"))
        self.distributions = closure(HAS)
        for distribution in self.distributions.values():
            for top in {Path(file).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
                place = Path(distribution.locate_file(top))
                if place.exists() and not (packages / top).exists():
                    (packages / top).symlink_to(place)
        self.home = folder / "home"
        self.home.mkdir()
        python = [str(folder / "python" / "bin" / "python")]
        if shutil.which("bwrap"):  # fonts are the system's
            python = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", FONTS, *python]
        self.python = python
        spec = {"argv": [*python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python"}
        self.specs = folder / "kernels"
        (self.specs / "cloud").mkdir(parents=True)
        (self.specs / "cloud" / "kernel.json").write_text(json.dumps(spec | {"display_name": "cloud"}))

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH") if key in os.environ
        }
        return kept | {"HOME": str(self.home), "OMP_NUM_THREADS": "1"}

    def say(self, code: str, cwd: Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*self.python, "-c", code], cwd=cwd, env=self.environment, capture_output=True, text=True,
            encoding="utf-8",
        )  # fmt: skip

    def run(self, path: Path) -> list[nbformat.NotebookNode]:
        """The notebook's code cells with what they showed, run where it lies."""
        notebook = nbformat.read(path, as_version=4)
        specs = KernelSpecManager(kernel_dirs=[str(self.specs)], ensure_native_kernel=False)
        manager = KernelManager(kernel_name="cloud", kernel_spec_manager=specs)
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=300,
            allow_errors=True,
            resources={"metadata": {"path": str(path.parent)}},
        )
        try:
            client.execute(env=self.environment, stderr=subprocess.DEVNULL)
        finally:
            manager.shutdown_kernel(now=True)
        return [cell for cell in notebook.cells if cell.cell_type == "code"]


class Host(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and the Git repositories in it through Git's own server program."""

    def do_GET(self) -> None:
        self.git() if "/info/refs?" in self.path else super().do_GET()

    def do_POST(self) -> None:
        self.git()

    def git(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.directory, "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def published(folder: Path) -> Iterator[str]:
    """The repository as its host shows it: a clone over HTTP, and room for ``releases/``; its address."""
    repository = folder / "course"
    done = subprocess.run(
        ["git", "clone", "--quiet", "--bare", ROOT, repository], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/course"
    finally:
        server.shutdown()
        server.server_close()


def errors(cells: list[nbformat.NotebookNode]) -> list[str]:
    """What stopped a cell, and whatever is on its stderr."""
    outputs = [output for cell in cells for output in cell.outputs]
    found = [f"{o.ename}: {o.evalue}" for o in outputs if o.output_type == "error"]
    return found + [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"]


def shown(cell: nbformat.NotebookNode, mime: str = "text/plain") -> str:
    """The cell's last rich output of this kind."""
    data = [output.data for output in cell.outputs if "data" in output]
    return data[-1].get(mime, "") if data else ""
