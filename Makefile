# Every target does its own set-up: a virtual environment in .venv, the install, then the job.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Python and pytest keep what they have compiled: the asserts of all tests take five seconds of a processor to rewrite.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint bench torture mutate clean
.DELETE_ON_ERROR:

demo: .venv/base
	$(BIN)/shortlist demo

test: .venv/dev
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# All of them run, also where one misses a bar. The last takes two minutes and wants a quiet machine. `make bench KEEP=--keep` writes the results and the page made of them.
bench: .venv/dev
	@failed=0; for one in candidate_sets alpha_star stream_select acquisition growth belief labelling; do \
	  $(BIN)/python benchmarks/$$one.py $(KEEP) || failed=1; \
	done; $(if $(KEEP),$(BIN)/python benchmarks/page.py || failed=1;) exit $$failed

torture: .venv/dev
	SHORTLIST_EVERY_BACKEND=1 $(BIN)/python -m pytest -n auto --dist loadfile -m "torture or not torture"
	$(BIN)/python -m pytest -n auto --hypothesis-profile torture tests/properties
	$(BIN)/python -m tests.torture
	$(BIN)/python -m tests.web.killing --kills 100
	$(BIN)/python -m tests.web.losing --times 100
	$(BIN)/python -m tests.fuzz 1000

# About 500 small faults, each met by the tests that run its line: half an hour on two cores. It goes on where it stopped.
mutate: .venv/dev
	$(BIN)/python -m tests.mutate $(WITH)

clean:
	rm -rf .venv build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutate

.venv/base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shortlist needs Python 3.11 or later")'
	@echo "setting up .venv: about a minute"
	@$(PYTHON) -m venv .venv
	@$(PIP) --editable '.[report]'
	@touch $@

.venv/dev: .venv/base
	@echo "setting up .venv for development: about a minute more"
	@$(PIP) --editable '.[dev]'
	@touch $@
