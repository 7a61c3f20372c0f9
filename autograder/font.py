"""Cut the course font out of Noto Sans SC: `python -m autograder.font`.

Figures need Chinese on machines that have no Chinese font, so the course ships one: the common
characters only, under a family name of its own. Run this again after adding a character to `EXTRA`.
The bytes depend on nothing but this file and the font package.
"""

import sys
from importlib.metadata import files
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

PACKAGE = "pylopdf-fonts-zh-cn"
FAMILY = "RMSNorm Course Sans SC"
FONT_FILE = "CourseSansSC-Regular.otf"
LICENCE_FILE = "OFL.txt"
FOLDER = Path(__file__).parents[1] / "rmslab" / "fonts"

# Characters outside GB2312's symbols and level-1 hanzi. Those that Noto lacks come from DejaVu Sans.
EXTRA = (
    "①②③④⑤⑥⑦⑧⑨⑩✓✗→←↑↓↔⇒≤≥≠≈≅√∑∏∞∂∈∋·×÷±−½¼¾°…—–“”‘’•○●□■△▲▽▼◇◆"
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉γεβμσθληδφρτΣΔ⊙‖"
    "倏偕匕呃咦咪喵嗯噢娓幺恪悖拗捋捺撷浏潺熠熵瑕眸砥砺糅绮缪耦莘蓦褶诠豚跷蹊轶辄迥遐阈霎飙骰鳍"
)


def characters() -> set[str]:
    """Every character the course font should have."""
    latin = {chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x100))}
    return latin | gb2312(1, 9) | gb2312(16, 55) | set(EXTRA)


def gb2312(first: int, last: int) -> set[str]:
    """The characters in these rows of GB2312: 1–9 symbols, 16–55 level-1 hanzi."""
    pairs = (bytes((0xA0 + row, 0xA0 + cell)) for row in range(first, last + 1) for cell in range(1, 95))
    return set("".join(pair.decode("gb2312", errors="ignore") for pair in pairs))


def make_font(folder: Path = FOLDER) -> Path:
    """Write the font and its licence into `folder`; return the font's path."""
    shipped = {path.name: Path(path.locate()) for path in files(PACKAGE) or ()}
    font = TTFont(shipped["NotoSansSC-Regular.otf"], recalcTimestamp=False)
    copyright_line = font["name"].getDebugName(0)
    font["cmap"].tables = [table for table in font["cmap"].tables if table.format != 14]  # variant forms

    options = subset.Options()
    options.drop_tables += ["BASE", "DSIG", "GDEF", "GPOS", "GSUB", "VORG", "vhea", "vmtx"]  # plain text only
    options.hinting = False
    options.name_languages = [0x409]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 7, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(characters()))
    subsetter.subset(font)
    rename(font)

    folder.mkdir(parents=True, exist_ok=True)
    font.save(folder / FONT_FILE)
    licence = shipped["LICENSE"].read_text(encoding="utf-8")
    (folder / LICENCE_FILE).write_text(f"{copyright_line}\n\n{licence}", encoding="utf-8", newline="\n")
    return folder / FONT_FILE


def rename(font: TTFont) -> None:
    """Give the font a family of its own, so that it never collides with an installed Noto."""
    postscript = FAMILY.replace(" ", "") + "-Regular"
    for name_id, text in {1: FAMILY, 3: postscript, 4: f"{FAMILY} Regular", 6: postscript}.items():
        font["name"].setName(text, name_id, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames[0] = postscript
    cff.topDictIndex[0].FamilyName = FAMILY
    cff.topDictIndex[0].FullName = f"{FAMILY} Regular"


if __name__ == "__main__":
    path = make_font()
    print(f"{path}：{path.stat().st_size:,} 字节", file=sys.stderr)
