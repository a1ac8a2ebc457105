PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench
DASK   := $(VENV)/.dask
LAB    := $(VENV)/.lab
export PYTHONDONTWRITEBYTECODE :=
# One thread a process: the study runs one worker a core, and its digits must not depend on threads.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help experiments quick paper reproduce test test-all lab bench lint format lock clean

help:                ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

experiments: $(READY)  ## run the whole study, or what of it has changed: results/ and its report (about 7 minutes on 2 cores)
	$(BIN)/savegap run

quick: $(READY)        ## the same study with few replications, into .quick/ (about 40 seconds)
	$(BIN)/savegap run --replications 200 --out .quick

paper: $(READY)        ## set the paper: paper/paper.pdf, every number of it from results/ (about 20 seconds)
	$(BIN)/savegap paper

reproduce: $(READY)    ## the whole study from nothing in .again/, and compare it with results/ (about 9 minutes)
	rm -rf .again
	mkdir .again
	cp -R results/measured .again/
	$(BIN)/savegap run --out .again
	$(BIN)/savegap compare results .again

test: $(READY)         ## tests, without those marked slow
	$(BIN)/pytest -m "not slow"

test-all: $(DASK) $(LAB)  ## every test, those of a cluster and of frameworks too
	$(BIN)/pytest

lab: $(LAB)            ## kill real processes: results/measured/lab/ and its part of the report (about 12 minutes; Linux)
	$(BIN)/savegap lab run
	$(BIN)/savegap report

bench: $(BENCH)        ## speed and memory, beside other models: results/measured/bench.md (about 4 minutes, longer on a busy machine)
	$(BIN)/pytest benchmarks -n 0 --benchmark-columns=min,median,rounds --benchmark-sort=name --table results/measured/bench.md

lint: $(READY)         ## ruff, mypy strict, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)       ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:                ## resolve the dependencies again (needs uv)
	uv pip compile pyproject.toml --group dev --extra paper --generate-hashes --universal --no-header --upgrade -o requirements.lock
	uv pip compile pyproject.toml --extra dask --constraint requirements.lock --generate-hashes --universal --no-header --upgrade -o requirements-dask.lock
	uv pip compile pyproject.toml --extra lab --constraint requirements.lock --generate-hashes --universal --no-header --upgrade -o requirements-lab.lock
	uv pip compile --group bench --constraint requirements.lock --generate-hashes --universal --no-header --upgrade -o benchmarks/requirements.lock

clean:               ## remove the environment and everything ignored that was made here
	rm -rf $(VENV) .quick .again build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks results/report.html results/run.json results/.kept
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment follows the lock: a changed lock makes a new one, so that nothing stays from before.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "savegap needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 ..."; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# A cluster is an extra, so it comes with the first test of one.
$(DASK): $(READY) requirements-dask.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dask.lock
	@touch $@

# So do the frameworks and the store that only the laboratory kills.
$(LAB): $(READY) requirements-lab.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-lab.lock
	@touch $@

# The compiled peer is for benchmarks alone, so it comes with the first of them.
$(BENCH): $(READY) benchmarks/requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement benchmarks/requirements.lock
	@touch $@
