PYTHON ?= python3
EXTRAS ?=
WORKERS ?= 2
PYTEST_ARGS ?=

comma := ,
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One stamp for each set of extras, so that asking for another set installs it.
# What the tests of an extra need besides.
WITH_TESTS := $(EXTRAS)$(if $(findstring embeddings,$(EXTRAS)),$(comma)embeddings-test)
# What was asked for must be there: its tests fail without it, where they are skipped otherwise.
export VIGENCIA_TEST_EXTRAS := $(EXTRAS)
STAMP := .venv/.stamp$(addprefix -,$(subst $(comma),-,$(EXTRAS)))

.PHONY: help setup serve lint quick test soak test-neo4j test-neo4j-lts bench pin clean
.DEFAULT_GOAL := help

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## prepare .venv, pinned by constraints.txt (EXTRAS=a,b adds extras)

$(STAMP): pyproject.toml constraints.txt
	@echo 'preparing .venv (about half a minute$(if $(findstring embeddings,$(EXTRAS)),; PyTorch is 6 GB: some minutes more))'
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(PIP_INSTALL) hatchling
	@$(PIP_INSTALL) --no-build-isolation --editable '.[dev$(addprefix $(comma),$(WITH_TESTS))]'
	@touch $@

serve: setup ## start the server on 127.0.0.1:8321 with vigencia.db and a demonstration story
	$(BIN)/vigencia serve --demo

lint: setup ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

quick: setup ## the tests that need no Neo4j, for while you work
	$(BIN)/python -m pytest -m 'not neo4j' $(PYTEST_ARGS)

test: setup lint ## lint, then every test, the long ones at about a tenth of their counts; WORKERS=2 processes, each starts a Neo4j
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile $(PYTEST_ARGS)

soak: setup ## every test at full counts
	VIGENCIA_SOAK=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

test-neo4j: setup ## only the tests that need a Neo4j, which they start themselves (Java 25, Maven)
	$(BIN)/python -m pytest -m neo4j $(PYTEST_ARGS)

test-neo4j-lts: setup ## the same on its long-term release (Java 17)
	VIGENCIA_TEST_NEO4J_VERSION=5.26.30 $(BIN)/python -m pytest -m neo4j $(PYTEST_ARGS)

bench: setup ## measure against bare sqlite3, a bare Neo4j driver and an empty route
	$(BIN)/python -m benchmarks

pin: ## write constraints.txt anew from the newest releases
	rm -rf .venv && $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev,embeddings,embeddings-test]'
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean: ## remove .venv, caches and builds; vigencia.db stays
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
