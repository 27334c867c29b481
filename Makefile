# `make demo` on a fresh clone needs only Python (3.11 or later), pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow test-all prove faults versions bench lint docs page release clean help
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Each target installs what it needs (an extra of pyproject.toml), once, and again when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing PyTorch (pinned; about 200 MB where no copy is at hand) and secondpass into $(VENV)"
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.demo
	@echo "installing what the tests need into $(VENV): pytest, Lightning, Transformers"
	$(PIP) -e '.[demo,test]'
	@touch $@

$(VENV)/.lint $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/.test
	$(PIP) -e '.[demo,$*]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

demo: $(VENV)/.demo ## a program that fails: find out why by reading it, by running it, by looking at it
	$(BIN)/secondpass check examples/carried_state.py || test $$? -eq 1
	$(BIN)/secondpass see examples/carried_state.py || test $$? -eq 1

test: $(VENV)/.test ## the tests, without the slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not slow" $(PYTEST_FLAGS)

test-slow: $(VENV)/.test ## the slow tests alone
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m slow $(PYTEST_FLAGS)

test-all: $(VENV)/.test ## all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup $(PYTEST_FLAGS)

prove: $(VENV)/.test ## 10,000 random programs on our autograd and on PyTorch: prints the number of differences
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.prove

faults: $(VENV)/.test ## right programs broken in known ways: how often run, check and fix are right (see docs/faults.md)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults --publish docs/faults.md $(FAULTS_FLAGS)

versions: $(VENV)/.test ## the tests that touch PyTorch, against one release after the other (see docs/versions.md)
	$(BIN)/python -m tests.versions --publish docs/versions.md $(VERSIONS)

bench: $(VENV)/.bench ## every published figure, as ratios to a plain run
	@for file in bench/*.py; do case $$file in bench/_*) continue ;; esac; echo "== $$file"; $(BIN)/python $$file || exit 1; done

lint: $(VENV)/.lint ## style, and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs ## the site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

page: ## the page that `secondpass see` writes, from web/ (needs node 20 and npm; what it makes is committed)
	cd web && npm ci --silent && npm run --silent build

release: | $(BIN)/python ## build the wheel, and try it in an environment of its own
	$(PIP) build
	rm -rf dist && $(BIN)/python -m build --outdir dist . > /dev/null
	$(PYTHON) -m venv dist/tried && dist/tried/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	test -f dist/tried/lib/python*/site-packages/secondpass/py.typed
	cd dist && tried/bin/secondpass check ../examples/carried_state.py > /dev/null; test $$? -eq 1
	cd dist && tried/bin/secondpass explain carried-state > /dev/null
	rm -rf dist/tried && ls dist

clean: ## forget what was made
	rm -rf $(VENV) .faults .versions dist site web/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
