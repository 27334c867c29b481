# `make demo` on a fresh clone needs only Python (3.11 or later), pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test prove faults bench lint docs page clean help
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

# The environment is made once, and again when what it is made from changes.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench,docs,integrations]'
	@touch $@

demo: $(STAMP) ## run a program that fails, and see why (its exit status, 1, is the program's own)
	$(BIN)/secondpass run examples/carried_state.py || test $$? -eq 1

test: $(STAMP) ## the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 $(PYTEST_FLAGS)

prove: $(STAMP) ## 10,000 random programs on our autograd and on PyTorch: prints the number of differences
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.prove

faults: $(STAMP) ## right programs broken in known ways: how often run, check and fix are right (see docs/faults.md)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults --publish docs/faults.md $(FAULTS_FLAGS)

bench: $(STAMP) ## every published figure, as ratios to a plain run
	@for file in bench/*.py; do case $$file in bench/_*) continue ;; esac; echo "== $$file"; $(BIN)/python $$file || exit 1; done

lint: $(STAMP) ## style, and strict types where the facts are
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP) ## the site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

page: ## the page that `secondpass see` writes, from web/ (needs node 20 and npm; what it makes is committed)
	cd web && npm ci --silent && npm run --silent build

clean: ## forget what was made
	rm -rf $(VENV) .faults site web/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
