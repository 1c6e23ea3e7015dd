# Two commands: `make demo` and `make test`. Both set everything up on first use.
.DEFAULT_GOAL := help
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
FLAGS ?=
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check up down prove bench lock clean

help: ## What there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): requirements.lock requirements-setup.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Set PYTHON=python3.11 or install it.") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the pinned dependencies (about ten seconds, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-setup.lock 2>&1 | grep -v '^WARNING: Location' || true
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock \
	  || { echo "uv could not install; trying pip (slower)"; $(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock; }
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e . \
	  || $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

setup: $(STAMP) ## Install into .venv from requirements.lock

demo: $(STAMP) ## The local stack, real jobs, real faults, what was recovered
	@$(BIN)/mos demo $(FLAGS)

test: $(STAMP) check ## Lint, types, contracts, then the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not prove" $(FLAGS)

check: $(STAMP) ## What CI runs before the tests
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .

up: $(STAMP) ## Start the local stack and stay in the foreground
	@$(BIN)/mos up $(FLAGS)

down: $(STAMP) ## Stop the local stack
	@$(BIN)/mos down $(FLAGS)

prove: $(STAMP) ## The long campaigns
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m prove --timeout 1800 $(FLAGS)

bench: $(STAMP) ## Figures, as ratios in one run, into bench/results/
	for file in bench/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

lock: $(STAMP) ## Pin the dependencies anew
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock
	echo uv | $(BIN)/uv pip compile - --universal --generate-hashes --no-emit-index-url --no-header --quiet -o requirements-setup.lock

clean: ## Remove the environment and the local stack's state
	rm -rf $(VENV) .mos
