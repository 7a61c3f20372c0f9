# make lab · make test · make demo · make formgrader — each sets up everything itself, from a bare clone.
#
# make lab installs what students need; the others add what instructors and tests need.
#
#   PYTHON=…  the interpreter (3.11 or newer). An active virtual or conda environment is used as it is;
#             otherwise .venv is made, which sees torch where the interpreter already has it.
#   TORCH=…   the torch to install where there is none, for example TORCH=torch==2.13.0

PYTHON ?= python3
TORCH ?= torch>=2.4

ask = $(shell $(PYTHON) -c 'import importlib.util, os, sys; print($(1))')
ACTIVE := $(call ask,int(sys.prefix != sys.base_prefix or os.path.isdir(os.path.join(sys.prefix, "conda-meta"))))

ifeq ($(ACTIVE),1)
PY := $(PYTHON)
PREFIX := $(call ask,sys.prefix)
BIN := $(call ask,os.path.dirname(sys.executable))
else
PY := .venv/bin/python
PREFIX := .venv
BIN := $(CURDIR)/.venv/bin
SITE := $(call ask,"--system-site-packages" * bool(importlib.util.find_spec("torch")))
endif

# JupyterLab refuses root unless told; free cloud machines run as root.
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# A stamp says from which folder everything was installed; it is older than pyproject.toml once that changes.
LAB_STAMP := $(PREFIX)/.rmsnorm-lab
ALL_STAMP := $(PREFIX)/.rmsnorm-all
EXTRAS := grade,test
current = { test "$(1)" -nt pyproject.toml && grep -qxF "$(CURDIR)" "$(1)"; }
install = { set -e; echo "正在安装需要的包，第一次要几分钟……"; \
	"$(PY)" -c "import torch" 2>/dev/null || "$(PY)" -m pip install "$(TORCH)"; \
	"$(PY)" -m pip install --quiet --editable "$(1)"; \
	printf '%s\n' "$(CURDIR)" > "$(2)"; }

# Shows the folder it is started in; its terminals find the same Python.
JUPYTERLAB = PATH="$(BIN):$$PATH" python -m jupyterlab --LabApp.app_settings_dir="$(CURDIR)/lab" $(ROOT) $(LAB)

.PHONY: lab formgrader test demo build python setup-lab setup

lab: setup-lab
	@mkdir -p work
	@for lesson in notebooks/*/*.ipynb; do copy="work/$${lesson##*/}"; test -e "$$copy" || cp "$$lesson" "$$copy"; done
	cd work && $(JUPYTERLAB)

formgrader: setup
	$(JUPYTERLAB)

test: setup
	$(PY) -m pytest $(PYTEST)

demo: setup
	$(PY) -m autograder.cli demo

build: setup
	$(PY) -m autograder.cli build

python:
	@$(PYTHON) -c 'import sys; sys.exit("需要 Python 3.11 或更新的版本；现在是 " + sys.version.split()[0] + "。可用 make PYTHON=python3.12 … 指定。" if sys.version_info < (3, 11) else 0)'
	@test -x "$(PY)" || test "$(ACTIVE)" = 1 || $(PYTHON) -m venv $(SITE) .venv

setup-lab: python
	@$(call current,$(LAB_STAMP)) || $(call current,$(ALL_STAMP)) || $(call install,.,$(LAB_STAMP))

setup: python
	@$(call current,$(ALL_STAMP)) || $(call install,.[$(EXTRAS)],$(ALL_STAMP))
