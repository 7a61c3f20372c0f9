"""A real JupyterLab and a real browser for tests."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PANEL = "window.jupyterapp?.shell.currentWidget"


def chromium() -> str:
    """The browser's path. Without one, tests skip; where a CI runs them, they fail."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "no chromium here"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


@contextlib.contextmanager
def jupyterlab(root: Path, home: Path) -> Iterator[str]:
    """A server on ``root`` with an empty home; its address without a path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")} | {"HOME": str(home)}
    process = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--port=0", "--allow-root",
            "--IdentityProvider.token=t", "--LabApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly", f"--ServerApp.root_dir={root}",
        ],
        cwd=root, env=env, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        lines = iter(process.stderr)
        address = next(
            m[0] for line in lines if (m := re.search(r"http://(localhost|127\.0\.0\.1):\d+", line))
        )
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        yield address
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()


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
def browser_page(width: int = 1300) -> Iterator[Watched]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": width, "height": 1000})
            page.set_default_timeout(60_000)
            yield Watched(page)
        finally:
            browser.close()


class Notebook:
    """One notebook in the browser, driven through JupyterLab's own model and commands."""

    def __init__(self, page: Page, address: str, name: str):
        self.page = page
        page.goto(f"{address}/lab/tree/{name}?token=t&reset")
        page.wait_for_function(f"{PANEL}?.sessionContext?.session?.kernel?.connectionStatus === 'connected'")
        page.evaluate(
            f"async () => {{ const panel = {PANEL}; await panel.context.ready;"
            " await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info; }"
        )

    def command(self, name: str) -> None:
        self.page.evaluate(f"() => {{ void window.jupyterapp.commands.execute('{name}') }}")

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
        self.page.wait_for_function(
            f"() => [...{PANEL}.content.model.cells]"
            ".filter(c => c.type === 'code' && c.sharedModel.source.trim())"
            ".every(c => c.executionCount !== null)",
            timeout=120_000,
        )
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

    def card(self, grade_id: str):
        """The feedback card under a test cell, scrolled into view."""
        i = self.index(grade_id)
        self.page.evaluate(f"i => {PANEL}.content.scrollToItem(i)", i)
        card = self.page.locator(".jp-Notebook .jp-Cell").nth(i).locator(".rms-card")
        card.scroll_into_view_if_needed()
        return card

    def outputs(self, kind: str) -> list[str]:
        """Text of all ``error`` outputs or ``stderr`` streams in the notebook."""
        return self.page.evaluate(
            f"""kind => [...{PANEL}.content.model.cells].filter(c => c.type === 'code')
            .flatMap(c => c.outputs.toJSON())
            .filter(o => o.output_type === kind || (o.output_type === 'stream' && o.name === kind))
            .map(o => o.ename ? `${{o.ename}}: ${{o.evalue}}` : String(o.text))""",
            kind,
        )


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
