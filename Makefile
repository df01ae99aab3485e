# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test browser faults clean

demo: .venv/run
	$(BIN)/regard demo

test: .venv/test browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/pytest -m "not compiled and not slow" --jaxtyping-packages=regard,beartype.beartype
	$(BIN)/pytest -m compiled

# The tests of the page need a Chromium; where none can be installed they say so and are skipped.
browser:
	@test -n "$$REGARD_CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Chromium, for the tests of the page"; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null || true; \
	else \
		echo "no Chromium: install one, or name it in REGARD_CHROMIUM, to test the page, too"; \
	fi

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
