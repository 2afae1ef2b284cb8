# Each target sets up what it needs in .venv on its own: Python 3.11 or later and make are enough for
# `conform`; `test` also uses a JDK 17, Maven and Node.js where they are there.

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT := out/conform
# Many tests wait for a broker, a browser or a hanging port: two workers more than a small machine has cores.
WORKERS ?= 4

# Tests, benchmarks and the verbs start Python hundreds of times: it keeps its bytecode. What the tests import is compiled before
# their first run, and not by each worker.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: conform docs results dist dist-java dist-go dist-rust dist-npm test soak fuzz bench golden lint lock format clean

## conform: the suite against the bundled engine, then the golden stores decoded; prints the report's path
conform: $(VENV)/engine.stamp
	@$(BIN)/rocketspec conform --report $(OUT)
	@$(BIN)/rocketspec golden verify
	@$(BIN)/python -m tools.golden_tour $(OUT)/golden
	@echo "report: $(CURDIR)/$(OUT)/report.html"

## docs: the documentation site, into out/site; a broken link or anchor is an error
docs: $(VENV)/docs.stamp
	@$(BIN)/python -m website

## results: runs the suite on the implementations of the site's results page; needs a JDK 17 and Maven; ARGS='add REPORT' adds a report
results: $(VENV)/docs.stamp
	@$(BIN)/python -m website.run_results $(ARGS)

## dist: wheel, sdist and the packages of vectors into dist/, built twice, compared and tried, some minutes; needs Java, Maven, Go, Cargo and Node.js
dist: $(VENV)/dev.stamp
	@$(BIN)/python release/build.py
	@$(BIN)/python -m packages

## dist-java, dist-go, dist-rust, dist-npm: one package of vectors into dist/; each needs the tools of its language alone
dist-java dist-go dist-rust: $(VENV)/engine.stamp
	@$(BIN)/python -m packages $(@:dist-%=%)
dist-npm: $(VENV)/engine.stamp
	@$(BIN)/python -m packages javascript

## test: every test, in parallel, with downloads and pyright beside them; says in one line what is skipped for a missing Java, Maven or Node.js
test: $(VENV)/dev.stamp
	@$(BIN)/python tests/support/prefetch.py >/dev/null 2>&1 & \
	nice -n 5 $(BIN)/python tests/project/run_pyright.py >/dev/null 2>&1 & \
	test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only -q >/dev/null; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -q $(ARGS)

## soak: the long tests: every version, five seeds, twenty kills, 2 GB stores; writes the generated figures again
soak: $(VENV)/dev.stamp
	@$(BIN)/python -m pytest --soak -q $(ARGS)

## fuzz: every function that takes bytes, for SECONDS=60; Hypothesis keeps what fails, and tries it first
fuzz: $(VENV)/dev.stamp
	@$(BIN)/python tests/support/fuzz_targets.py --seconds $(or $(SECONDS),60) --seed $(or $(SEED),0) $(ARGS)

## bench: speed as ratios measured side by side in one run, into benchmarks/RESULTS.md
bench: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks $(ARGS)

## bench-check: a short form of the races; prints the bars, and exits with 1 if one of a small store is missed
bench-check: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks --check $(ARGS)

## golden: makes the golden stores and vectors again with the real 4.9.3 jars
golden: $(VENV)/dev.stamp
	@$(BIN)/python golden/generator/make.py $(ARGS)
	@$(BIN)/python golden/generator/vectors/make.py
	@$(BIN)/python golden/generator/make.py --record-vectors

## lint: formatter, ruff, mypy and pyright
lint: $(VENV)/dev.stamp
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python tests/project/run_pyright.py

format: $(VENV)/dev.stamp
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

## lock: resolves requirements/*.in again, with hashes and without addresses
lock: $(VENV)/dev.stamp
	@for name in base engine docs dev; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header requirements/$$name.in -o requirements/$$name.txt || exit 1; done

clean:
	rm -rf $(VENV) build out dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/python.stamp:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed and was not found (say PYTHON=...)"; exit 1; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The locks name every package: nothing is to be resolved, and what is imported is compiled when it is.
define INSTALL
$(PIP) install --no-compile --no-deps --require-hashes -r requirements/$(1).txt
endef
define INSTALL_THIS
@$(PIP) install --no-compile --no-deps --no-build-isolation --editable .
@$(PIP) check
endef

$(VENV)/engine.stamp: $(VENV)/python.stamp requirements/engine.txt pyproject.toml
	@$(call INSTALL,engine)
	$(INSTALL_THIS)
	@touch $@

$(VENV)/docs.stamp: $(VENV)/python.stamp requirements/docs.txt pyproject.toml
	@$(call INSTALL,docs)
	$(INSTALL_THIS)
	@touch $@ $(VENV)/engine.stamp

# uv unpacks several packages at once, in a quarter of pip's time; where it fails, as it does not read pip's settings, pip installs all.
$(VENV)/dev.stamp: $(VENV)/python.stamp requirements/dev.txt pyproject.toml
	@echo "installing what the tests need"
	@sed -n '/^uv==/,/# via/p' requirements/dev.txt | $(PIP) install --no-compile --no-deps --require-hashes -r /dev/stdin
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --require-hashes -r requirements/dev.txt || $(call INSTALL,dev)
	$(INSTALL_THIS)
	@touch $@ $(VENV)/docs.stamp $(VENV)/engine.stamp
