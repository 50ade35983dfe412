# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --quiet --disable-pip-version-check

.PHONY: demo test lint format clients clients-ci adapters conformance chaos mutants meter full \
  wheel-check bench bench-gate engine-bench profile clean help

help:            ## Say what can be made
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/cuesta: pyproject.toml
	@echo "Making the environment in $(VENV) ..."
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	  sys.exit(0 if v >= (3, 11) else "Python 3.11 or newer is needed, this is %d.%d" % v)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $(BIN)/cuesta

$(VENV)/dev: $(BIN)/cuesta
	@echo "Installing what the tests need ..."
	@$(PIP) install --editable '.[dev]'
	@touch $(VENV)/dev

demo: $(BIN)/cuesta   ## Watch an agent's context grow and drop, with the bill beside it
	@$(BIN)/cuesta demo

test: $(VENV)/dev     ## Run all tests but those that drive real agent programs
	@$(BIN)/python -m pytest -m 'not clients' -n auto --maxprocesses 4 --dist loadfile

lint: $(VENV)/dev     ## Check style, types and the arrows between the rooms
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/dev   ## Put the code into the common form
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

clients: $(VENV)/dev  ## Install the real agent programs and drive them through Cuesta
	@sh scripts/install-clients
	@$(BIN)/python -m pytest -m clients -rs -s tests/clients

clients-ci: clients   ## The same, as CI calls it

adapters: $(VENV)/dev  ## Run the adapters with the real packages and print the table
	@$(BIN)/python scripts/adapters.py

conformance: $(VENV)/dev  ## Judge 1,000 generated histories on each wire and print the table
	@for wire in anthropic openai_chat openai_responses; do \
	  $(BIN)/python scripts/conformance.py 1000 $$wire || exit 1; done

chaos: $(VENV)/dev    ## Play 60 conversations of 300 turns through proxies that keep losing everything
	@$(BIN)/python scripts/chaos.py --workers 2

mutants: $(VENV)/dev  ## Break one rule at a time and see that the tests notice (5 minutes)
	@$(BIN)/python scripts/mutants.py

meter: $(VENV)/dev    ## Compare the meter's estimates with the bills of saved sessions
	@$(BIN)/python scripts/meter_errors.py

full: $(VENV)/dev     ## Run the property tests with many examples (long)
	@CUESTA_HYPOTHESIS=full $(BIN)/python -m pytest -m 'not clients' -n auto --dist loadfile

wheel-check: $(VENV)/dev  ## Build the wheel and run it alone in a clean environment
	@sh scripts/check-wheel $(BIN)/python

bench: $(BIN)/cuesta  ## Measure Cuesta beside nginx and cliffcompaction (12 minutes), write the report
	@sh scripts/install-bench $(BIN)/python
	@$(BIN)/python -m benchmarks --out benchmarks/RESULTS.md

bench-gate: $(BIN)/cuesta  ## Fail if a request costs more CPU than benchmarks/gate.json allows
	@$(BIN)/python -m benchmarks.gate

engine-bench: $(VENV)/dev  ## Replay 150 turns through a real engine with and without cliffs (2 to 10 minutes)
	@$(BIN)/python -m benchmarks.engine

.bench/tools/bin/py-spy:
	@$(PYTHON) -m venv .bench/tools
	@.bench/tools/bin/pip --quiet --disable-pip-version-check install py-spy

profile: $(BIN)/cuesta .bench/tools/bin/py-spy  ## Draw where the CPU of a steady request goes
	@$(BIN)/python -m benchmarks.flames .bench/tools/bin/py-spy

clean:           ## Remove what was made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build demo-out \
	  .bench
