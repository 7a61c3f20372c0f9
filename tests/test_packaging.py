"""What is declared agrees with what is used, and nothing of the machine it was written on is in it."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT, need, python
from packaging.requirements import Requirement

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
NOT_ON_CONDA_FORGE = {"playwright", "axe-playwright-python", "pylopdf-fonts-zh-cn"}
KIT_MAY_IMPORT = {"torch", "numpy", "matplotlib", "IPython", "ipywidgets", "traitlets", "rmslab"}


def tracked() -> list[str]:
    """Files under version control; in a copy without a history, every file that is not ignored there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    need(done.returncode == 0, "no git checkout")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def requirements(*extras: str) -> list[Requirement]:
    """Base dependencies and those of the extras, without the project's own name."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    found = [Requirement(line) for line in lines]
    return [r for r in found if r.name != PROJECT["name"]]


def test_conda_environment_equals_the_project():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    listed = environment["dependencies"]
    by_pip = next((entry["pip"] for entry in listed if isinstance(entry, dict)), [])
    by_conda = [entry for entry in listed if isinstance(entry, str)]
    assert environment["channels"] == ["conda-forge"]

    wanted, wanted_pip = {"python": PROJECT["requires-python"]}, {}
    for requirement in requirements("grade", "test"):
        if requirement.name in NOT_ON_CONDA_FORGE:
            wanted_pip[requirement.name] = str(requirement.specifier)
        else:
            wanted[CONDA_NAMES.get(requirement.name, requirement.name)] = str(requirement.specifier)
    if by_pip:
        wanted["pip"] = ""
    given = {name: spec for name, _, spec in (entry.partition(" ") for entry in by_conda)}
    normal = {name: set(filter(None, spec.replace(" ", "").split(","))) for name, spec in given.items()}
    assert normal == {name: set(filter(None, spec.split(","))) for name, spec in wanted.items()}
    assert {r.name: str(r.specifier) for r in map(Requirement, by_pip)} == wanted_pip
    assert len(given) == len(by_conda), "listed twice"


HOSTS = "|".join(
    [rf"{name}\.{place}" for name, place in (
        ("pypi", "org"), ("files", "pythonhosted"), ("conda", "anaconda"), ("repo", "anaconda"),
        ("registry", "npmjs"), ("download", "pytorch"), ("mirrors?", "[a-z]"), ("tuna", "tsinghua"), ("ustc", "edu"),
    )]
    + ["aliyun", "douban", "huaweicloud", "index-url", "extra-index", "find-links"]
)  # fmt: skip
PLACES = (
    r"/(?:root|home|Users|tmp|opt|srv|data|workspace|work/[a-z])(?:/[\w.-]+)+"
    r"|[A-Z]:\\Users|/mnt/(?!workspace)\w+"
)
FOLDERS = r"(?i)\bshared/|/\.library/"


@pytest.mark.parametrize(("what", "pattern"), [("host", HOSTS), ("place", PLACES), ("folder", FOLDERS)])
def test_nothing_of_one_machine_in_tracked_files(what, pattern):
    found = []
    for name in tracked():
        if name == "tests/test_packaging.py":
            continue
        try:
            text = (ROOT / name).read_text("utf-8")
        except UnicodeDecodeError:
            continue  # the font
        found += [f"{name}: {match[0]}" for match in re.finditer(pattern, text)]
    assert not found


def imports(text: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("rmslab" if node.level else node.module.split(".")[0])
    return names


@pytest.mark.parametrize(
    "path", sorted((ROOT / "rmslab").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_kit_imports_only_what_a_cloud_image_has(path):
    assert imports(path.read_text("utf-8")) <= KIT_MAY_IMPORT | sys.stdlib_module_names


def test_every_import_of_the_grader_is_declared():
    declared = {r.name for r in requirements("grade", "scale", "test")} | {"fonttools"}
    modules = {"fonttools": "fontTools", "ipython": "IPython", "pyyaml": "yaml"}
    # Those that nbgrader is made of, and cannot do without.
    with_nbgrader = {"alembic", "nbformat", "nbclient", "traitlets", "nbconvert"}
    allowed = {modules.get(name, name) for name in declared} | with_nbgrader | {"rmslab", "autograder"}
    for path in (ROOT / "autograder").glob("*.py"):
        assert imports(path.read_text("utf-8")) <= allowed | sys.stdlib_module_names, path


def test_all_packages_and_data_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    packages = {str(p.parent.relative_to(ROOT)).replace("/", ".") for p in ROOT.glob("*/**/__init__.py")}
    packages = {name for name in packages if name.split(".")[0] in ("rmslab", "autograder")}
    assert set(project["packages"]) == packages
    patterns = [ROOT / "rmslab" / pattern for pattern in project["package-data"]["rmslab"]]
    shipped = {p for pattern in patterns for p in pattern.parent.glob(pattern.name)}
    data = {ROOT / name for name in tracked() if name.startswith("rmslab/") and not name.endswith(".py")}
    assert data <= shipped


def test_code_is_clean():
    done = python("-m", "ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout


def test_continuous_integration_runs_the_tests_of_the_readme():
    scripts = [p for p in (ROOT / ".ci").rglob("*") if p.is_file()]
    runs = [
        line for p in scripts for line in p.read_text("utf-8").splitlines() if re.match(r"\s*make\b", line)
    ]
    assert any(re.search(r"\btest\b", line) for line in runs)
    assert "make test" in (ROOT / "README.md").read_text("utf-8")


def test_kit_does_not_load_the_grader():
    code = "import sys, rmslab; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = python("-c", code).stdout.split()
    assert "rmslab" in loaded and not {"autograder", "nbgrader"} & set(loaded)
