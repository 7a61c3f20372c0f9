"""A real JupyterLab and a real browser for tests."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import need
from playwright.sync_api import Browser, Locator, Page, TimeoutError, sync_playwright

from autograder.course import Course

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PANEL = "window.jupyterapp?.shell.currentWidget"
STATE = f"""() => {{
  const {{ content, sessionContext }} = {PANEL}, {{ kernel }} = sessionContext.session;
  return [kernel.status, kernel.connectionStatus, document.querySelector('.jp-Dialog')?.innerText,
    ...[...content.model.cells].filter(c => c.type === 'code').map(c => [c.executionCount, c.executionState])];
}}"""
OUTPUT = ".jp-OutputArea-output"
UNROLLED = (
    f"*:has({OUTPUT}) {{ overflow: visible !important; contain: none !important;"
    " content-visibility: visible !important }"
)


def chromium() -> str:
    """The browser's path. Without one, tests skip; where a CI runs them, they fail."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    need(found, "no chromium here")
    return found


OPTIONS = [
    "--no-browser", "--port=0", "--allow-root", "--IdentityProvider.token=t",
    "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
]  # fmt: skip


@contextlib.contextmanager
def jupyterlab(root: Path, home: Path) -> Iterator[str]:
    """A server on ``root`` with a home of its own; its address without a path."""
    settings = home / ".jupyter/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    # The question whether to fetch news would lie over the page.
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.root_dir={root}"]
    with served(command, root, home) as address:
        yield address


@contextlib.contextmanager
def served(command: list[str], folder: Path, home: Path) -> Iterator[str]:
    """Whatever ``command`` starts in ``folder``, once it has told its address, until the block ends."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")} | {"HOME": str(home)}
    process = subprocess.Popen(
        command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        lines = iter(process.stderr)
        address = next(m[0] for line in lines if (m := re.search(r"http://(localhost|127\.0\.0\.1):\d+", line)))
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # make and what it started
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@dataclass
class Lab:
    """A running JupyterLab whose root is a copy of the course."""

    address: str
    course: Course

    def put(self, notebook: Path, folder: str) -> str:
        """Copy a notebook to a folder of its own; its path in JupyterLab."""
        path = f"work/{folder}/{notebook.name}"
        target = self.course.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(notebook.read_bytes())
        return path


class Watched:
    """A page that remembers what must not happen: console errors and requests that leave the host."""

    def __init__(self, page: Page):
        self.page, self.errors, self.strangers = page, [], []
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("request", lambda r: self._note(r.url))

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in (
            "localhost",
            "127.0.0.1",
        ):
            self.strangers.append(url)


@contextlib.contextmanager
def started() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def new_page(browser: Browser, width: int = 1300, **options) -> Iterator[Watched]:
    """A page that shares neither cookies nor storage with any other."""
    context = browser.new_context(viewport={"width": width, "height": 1000}, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield Watched(page)
    finally:
        context.close()


@contextlib.contextmanager
def opened(browser: Browser, lab: Lab, path: str, width: int = 1300) -> Iterator["Notebook"]:
    """A notebook in a page of its own; its kernel ends with it."""
    with new_page(browser, width) as watched:
        notebook = Notebook(watched, lab.address, path)
        yield notebook
        watched.page.evaluate(f"async () => {{ await {PANEL}.sessionContext.shutdown() }}")


class Notebook:
    """One notebook in the browser, driven through JupyterLab's own model and commands."""

    def __init__(self, watched: Watched, address: str, path: str):
        self.watched, self.page, self.path, self.name = watched, watched.page, path, Path(path).stem
        page = self.page
        page.goto(f"{address}/lab/tree/{path}?token=t&reset")
        page.wait_for_function(f"{PANEL}?.sessionContext?.session?.kernel?.connectionStatus === 'connected'")
        page.evaluate(
            f"async () => {{ const panel = {PANEL}; await panel.context.ready;"
            " await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info; }"
        )

    def command(self, name: str) -> None:
        """Start a command of JupyterLab, once it can be: right after opening, the notebook may not be current."""
        self.page.wait_for_function("name => window.jupyterapp.commands.isEnabled(name)", arg=name)
        self.page.evaluate("name => { void window.jupyterapp.commands.execute(name) }", name)

    def settle(self) -> None:
        """Wait until nothing is queued or running."""
        self.page.wait_for_function(
            f"""() => {{ const panel = {PANEL};
            const busy = [...panel.content.widgets].some(w => w.promptNode?.textContent?.includes('*')
                || w.inputArea?.promptNode?.textContent?.includes('*'));
            return !busy && panel.sessionContext.session.kernel.status === 'idle'; }}""",
            timeout=120_000,
        )

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")
        try:
            self.page.wait_for_function(
                f"() => [...{PANEL}.content.model.cells]"
                ".filter(c => c.type === 'code' && c.sharedModel.source.trim())"
                ".every(c => c.executionCount !== null)",
                timeout=300_000,
            )
        except TimeoutError:
            pytest.fail(f"Run All did not get through {self.path}: {self.page.evaluate(STATE)}")
        self.settle()

    def index(self, grade_id: str) -> int:
        return self.page.evaluate(
            f"id => [...{PANEL}.content.model.cells]"
            ".findIndex(c => c.getMetadata('nbgrader')?.grade_id === id)",
            grade_id,
        )

    def write(self, grade_id: str, source: str) -> None:
        self.page.evaluate(
            f"([i, text]) => {{ {PANEL}.content.model.cells.get(i).sharedModel.setSource(text) }}",
            [self.index(grade_id), source],
        )

    def run(self, grade_id: str) -> None:
        """Run one cell and wait for its result."""
        i = self.index(grade_id)
        before = self.page.evaluate(f"i => {PANEL}.content.model.cells.get(i).executionCount", i)
        self.page.evaluate(f"i => {{ const content = {PANEL}.content; content.activeCellIndex = i }}", i)
        self.command("notebook:run-cell")
        self.page.wait_for_function(
            f"([i, before]) => {{ const n = {PANEL}.content.model.cells.get(i).executionCount;"
            " return n !== null && n !== before; }",
            arg=[i, before],
        )
        self.settle()

    def cell(self, i: int) -> Locator:
        """The i-th cell, scrolled into view."""
        self.page.evaluate(f"i => {PANEL}.content.scrollToItem(i)", i)
        return self.page.locator(".jp-Notebook .jp-Cell").nth(i)

    def card(self, grade_id: str) -> Locator:
        """The feedback card under a test cell, scrolled into view."""
        card = self.cell(self.index(grade_id)).locator(".rms-card")
        card.scroll_into_view_if_needed()
        return card

    def select(self, i: int) -> None:
        """Select a cell as by a click beside it: the keyboard is with the cell, not with an editor in it."""
        self.cell(i)
        self.page.evaluate(
            f"i => {{ const {{ content }} = {PANEL}; content.activeCellIndex = i; content.mode = 'command';"
            " content.activate(); content.activeCell.node.focus(); }",
            i,
        )

    def theme(self, name: str) -> None:
        """``Light`` or ``Dark``, as from the menu; JupyterLab keeps it for later pages."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
            f"JupyterLab {name}",
        )
        self.page.wait_for_function(
            "name => document.body.dataset.jpThemeName === name",
            arg=f"JupyterLab {name}",
        )

    def suits_everyone(self) -> None:
        """Nothing that the lesson's cells put out bars anyone from it, in the dark theme or the light one."""
        # JupyterLab hides what is scrolled out of sight, and axe-core looks at nothing hidden.
        unrolled = self.page.add_style_tag(content=UNROLLED)
        try:
            for name in ("Dark", "Light"):
                self.theme(name)
                assert violations(self.page, OUTPUT) == []
        finally:
            unrolled.evaluate("style => style.remove()")
            self.theme("Light")

    def outputs(self, kind: str) -> list[str]:
        """Text of all ``error`` outputs or ``stderr`` streams in the notebook."""
        return self.page.evaluate(
            f"""kind => [...{PANEL}.content.model.cells].filter(c => c.type === 'code')
            .flatMap(c => c.outputs.toJSON())
            .filter(o => o.output_type === kind || (o.output_type === 'stream' && o.name === kind))
            .map(o => o.ename ? `${{o.ename}}: ${{o.evalue}}` : String(o.text))""",
            kind,
        )

    def words(self) -> str:
        """Everything there is to read in the notebook, alternative texts included."""
        return self.page.evaluate(WORDS)

    def is_clean(self) -> None:
        """No error, nothing on stderr, no tofu, no console error, no request to elsewhere."""
        assert self.outputs("error") == []
        assert self.outputs("stderr") == []
        assert tofu(self.page, self.words()) == []
        assert self.watched.errors == []
        assert self.watched.strangers == []


# Formulas are drawn with fonts of their own; their hidden MathML is not.
WORDS = """
() => {
  const found = [], walk = document.createTreeWalker(
    document.querySelector('.jp-Notebook'), NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node =>
      node.matches?.('style, script, mjx-container') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    found.push(node.data ?? [node.ariaLabel, node.alt, node.title].filter(Boolean).join(' '));
  }
  return found.join(' ');
}
"""
TOFU = """
text => {
  const draw = (letter, font) => {
    const canvas = document.createElement('canvas'); canvas.width = canvas.height = 40;
    const pen = canvas.getContext('2d'); pen.font = `28px ${font}`; pen.fillText(letter, 4, 30);
    return canvas.toDataURL();
  };
  const font = getComputedStyle(document.body).fontFamily;
  const boxes = new Set(['\\u{10FFFF}', '\\uFFFE', '\\u0378'].map(c => draw(c, font)));
  return [...new Set(text)].filter(c => /\\p{L}|\\p{N}|\\p{S}/u.test(c) && boxes.has(draw(c, font)));
}
"""


def tofu(page: Page, text: str) -> list[str]:
    """Characters of ``text`` that this browser can only draw as a box."""
    return page.evaluate(TOFU, text)


def violations(page: Page, selector: str = "") -> list[str]:
    """What axe-core finds serious or critical, in the whole page or only inside the elements selected."""
    within = {"include": [[selector]]} if selector else None
    seen = Axe().run(page, within, {"resultTypes": ["violations"]}).response
    looked = {rule["id"] for key in ("passes", "violations") for rule in seen[key]}
    assert "color-contrast" in looked, "no text was in sight"
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]} — {node['failureSummary']}"
        for rule in seen["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
