# make lab · make test · make demo — each sets up everything itself, from a bare clone.
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
STAMP := $(call ask,sys.prefix)/.rmsnorm-course
else
PY := .venv/bin/python
STAMP := .venv/.rmsnorm-course
SITE := $(call ask,"--system-site-packages" * bool(importlib.util.find_spec("torch")))
endif

# JupyterLab refuses root unless told; free cloud machines run as root.
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: lab test demo build setup

lab: setup
	@mkdir -p work
	@for lesson in notebooks/*/*.ipynb; do copy="work/$${lesson##*/}"; test -e "$$copy" || cp "$$lesson" "$$copy"; done
	$(PY) -m jupyterlab --ServerApp.root_dir=work $(ROOT) $(LAB)

test: setup
	$(PY) -m pytest $(PYTEST)

demo: setup
	$(PY) -m autograder.cli demo

build: setup
	$(PY) -m autograder.cli build

setup:
	@$(PYTHON) -c 'import sys; sys.exit("需要 Python 3.11 或更新的版本；现在是 " + sys.version.split()[0] + "。可用 make PYTHON=python3.12 … 指定。" if sys.version_info < (3, 11) else 0)'
	@test -x "$(PY)" || test "$(ACTIVE)" = 1 || $(PYTHON) -m venv $(SITE) .venv
	@test "$(STAMP)" -nt pyproject.toml && grep -qxF "$(CURDIR)" "$(STAMP)" || { \
		set -e; \
		"$(PY)" -c "import torch" 2>/dev/null || "$(PY)" -m pip install "$(TORCH)"; \
		"$(PY)" -m pip install --quiet --editable ".[grade,test]"; \
		printf '%s\n' "$(CURDIR)" > "$(STAMP)"; \
	}
