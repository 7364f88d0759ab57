# One command from a fresh clone; nothing but Python (3.10+), make and git needed.
# Everything goes into .venv; the stamps live there too, so removing it starts over.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check --quiet

# The example to read, and the one real AITER that the tests always have. Without its
# dependencies: mlaprobe reads its files and never imports it.
AITER  := amd-aiter==0.1.7.post2.dev18

# The tests of one file stay together: they share what takes long to make.
PARALLEL := --numprocesses auto --dist loadfile

.DELETE_ON_ERROR:
.PHONY: report test check bench engines fuzz clean venv dev lint types reference rule releases releases-check help

help: ## what there is to make
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

report: $(VENV)/.package ## show what the newest AITER release does
	@$(VENV)/bin/mlaprobe report --aiter release:newest

test: dev ## run the tests
	$(PY) -m pytest $(PARALLEL)

check: lint types ## everything that CI runs
	$(PY) -m pytest $(PARALLEL) --cov --cov-branch --cov-report=term

lint: dev ## ruff, rules and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: dev ## mypy, strict
	$(PY) -m mypy

bench: dev ## medians and ratios; not a test
	$(PY) -m benchmarks.run

fuzz: dev ## feed damaged files to everything that reads (a minute)
	$(PY) -m tests.fuzz --inputs 20000

# Some 400 MB; the wheels are opened as archives, and never installed.
ENGINES := .engines

engines: dev ## the adapters against vLLM, SGLang and ATOM as they are released
	mkdir -p $(ENGINES)
	$(PIP) download --no-deps --dest $(ENGINES) vllm==0.33.0 sglang==0.5.23
	test -d $(ENGINES)/ATOM.git || git clone --quiet --bare https://github.com/ROCm/ATOM $(ENGINES)/ATOM.git
	MLAPROBE_ENGINE_WHEELS=$(ENGINES) $(PY) -m pytest tests/adapters

reference: dev ## the pages of docs/reference that come from the code
	$(PY) -m tools.reference

rule: dev ## begin a finding rule: make rule NAME="a few words"
	@$(PY) -m tools.new_rule "$(NAME)"

# The git repository of ROCm/aiter with its tags: make releases AITER_GIT=path/to/aiter
AITER_GIT ?= $(MLAPROBE_AITER_GIT)

releases: dev ## make the bundled releases anew
	$(PY) -m tools.releases '$(AITER_GIT)'

releases-check: dev ## compare the bundled releases with what would be made
	$(PY) -m tools.releases '$(AITER_GIT)' --check

venv: $(VENV)/.venv ## the empty virtual environment

dev: $(VENV)/.dev $(VENV)/.aiter ## the environment to develop in

clean: ## remove all that make made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.venv:
	@echo "making the virtual environment $(VENV)" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed (make PYTHON=...)")'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade pip
	@touch $@

$(VENV)/.package: pyproject.toml | $(VENV)/.venv
	@echo "installing mlaprobe and what it needs" >&2
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.venv
	@echo "installing what mlaprobe is developed with" >&2
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.package

$(VENV)/.aiter: Makefile | $(VENV)/.venv
	@echo "installing $(AITER), an AITER to read" >&2
	@$(PIP) install --no-deps '$(AITER)'
	@touch $@
