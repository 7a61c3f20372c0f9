"""Run notebook cells in an IPython inside this process, without a kernel, and keep what each one shows.

For a process that runs one notebook and ends: IPython's shell is a singleton, and student code may do
anything to it. Time, memory and escape are the caller's affair.
"""

import base64
import builtins
import io
import json
import re
import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from rmslab.evidence import words_of

MAX_TEXT = 100_000
MAX_DATA = 2_000_000
MAX_CELL = 8_000_000
MAX_OUTPUTS = 500
MAX_QUOTED = 120
"""Characters of one stream, of one rich output and of one cell; outputs of one cell;
characters of a line that a message quotes."""

Output = dict[str, Any]


class _Publisher(DisplayPublisher):
    def publish(self, data: dict, metadata: dict | None = None, **_: Any) -> None:
        self.shell.keep("display_data", data, metadata)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear()


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        self.shell.keep("execute_result", format_dict, md_dict)

    def finish_displayhook(self) -> None:
        pass


class _Stream(io.TextIOBase):
    """``sys.stdout`` or ``sys.stderr`` as notebook outputs, in order with everything else."""

    def __init__(self, shell: "Shell", name: str):
        self.shell, self.name = shell, name

    def write(self, text: str) -> int:
        self.shell.keep_text(self.name, str(text))
        return len(text)

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:
        return "utf-8"


def no_input(prompt: Any = "") -> str:
    raise RuntimeError("这里不能用 input()：检查和评分时没有人在键盘前。请把值直接写进代码。")


class Shell(InteractiveShell):
    """An IPython that keeps a cell's outputs in nbformat's form.

    ``%matplotlib widget`` and its like become inline; ``input()`` raises; ``exit()`` ends only its cell.
    """

    display_pub_class = _Publisher
    displayhook_class = _Hook

    def __init__(self, **kwargs: Any):
        self.outputs: list[Output] = []
        self.size = 0
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        super().__init__(config=config, **kwargs)

    def run(self, source: str) -> list[Output]:
        """Execute one cell; its outputs, an exception among them as nbformat's ``error``."""
        self.outputs, self.size = [], 0
        streams = sys.stdout, sys.stderr, builtins.input
        sys.stdout, sys.stderr = _Stream(self, "stdout"), _Stream(self, "stderr")
        builtins.input = no_input
        try:
            self.run_cell(source, store_history=True)
        finally:
            sys.stdout, sys.stderr, builtins.input = streams
        return self.outputs

    def keep(self, kind: str, data: dict, metadata: dict | None) -> None:
        data = {mime: base64.b64encode(v).decode() if isinstance(v, bytes) else v for mime, v in data.items()}
        try:
            size = len(json.dumps([data, metadata], allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            data, metadata, size = {"text/plain": "（输出无法保存，已省略）"}, {}, 0
        if size > MAX_DATA:
            data, metadata, size = {"text/plain": "（输出过大，已省略）"}, {}, 0
        output: Output = {"output_type": kind, "data": data, "metadata": metadata or {}}
        if kind == "execute_result":
            output["execution_count"] = self.execution_count
        self.append(output, size)

    def append(self, output: Output, size: int = 0) -> bool:
        """Keep one output, unless the cell already shows too much."""
        room = len(self.outputs) < MAX_OUTPUTS and self.size + size <= MAX_CELL
        if room:
            self.outputs.append(output)
            self.size += size
        return room

    def keep_text(self, name: str, text: str) -> None:
        last = self.outputs[-1] if self.outputs else {}
        if last.get("name") != name:
            last = {"output_type": "stream", "name": name, "text": ""}
            if not self.append(last):
                return
        if len(last["text"]) < MAX_TEXT and self.size < MAX_CELL:
            text = text[: MAX_TEXT - len(last["text"])]
            last["text"] += text
            self.size += len(text)

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        value = words_of(evalue, 2000)
        lines = [str(line)[:4000] for line in stb][-40:]
        name = getattr(etype, "__name__", str(etype))
        # Always kept: whether a cell failed decides more than how much it printed.
        self.outputs.append({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})

    def enable_gui(self, gui: str | None = None) -> None:
        pass

    def enable_matplotlib(self, gui: str | None = None) -> Any:
        return super().enable_matplotlib("inline")

    def ask_exit(self) -> None:
        raise SystemExit


def misread(error: Output, source: str) -> tuple[str, Output] | None:
    """What kind of mistake keeps Python from reading a cell, and where: a key of the catalogue, and facts."""
    words = re.fullmatch(r"(.*) \(<(?:ipython-input[^>]*|tokenize)>, line (\d+)\)", error["evalue"], re.DOTALL)
    if error["ename"] not in ("SyntaxError", "IndentationError", "TabError") or not words:
        return None
    number, lines = int(words[2]), source.splitlines()
    wrong = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    facts = {"error": error["ename"], "reason": words[1], "lineno": number, "wrong": wrong[:MAX_QUOTED]}
    return "syntax" if error["ename"] == "SyntaxError" else "indentation", facts
