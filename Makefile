# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test faults clean

demo: .venv/run
	$(BIN)/regard demo

test: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not compiled and not slow" --jaxtyping-packages=regard,beartype.beartype
	$(BIN)/pytest -m compiled

faults: .venv/test
	$(BIN)/pytest -m "fault" --durations=10

.venv/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/test: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@ .venv/run

clean:
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis
