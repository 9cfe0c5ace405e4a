# Needs python3 (3.11 or later), cargo and make. Everything Python lives in $(VENV), inside this clone.

PYTHON ?= python3
CARGO ?= cargo
VENV ?= .venv
PYTEST_ARGS ?=
COMPARE_ARGS ?=
FUZZ_TIMES ?= 50
SOAK_ARGS ?=

PY := $(VENV)/bin/python
PYTHON_DIRS := python tests/python tests/golden examples benches
# Folders count too: a file that was removed changes its folder.
RUST_SOURCES := $(shell find src) $(wildcard build.rs) Cargo.toml $(wildcard Cargo.lock)

# `maturin develop` installs into the environment that this variable names, unless conda says otherwise.
IN_VENV = env -u CONDA_PREFIX VIRTUAL_ENV="$$(cd $(VENV) && pwd)"
# The bindings are compiled against the environment's Python.
WITH_PYTHON = PYO3_PYTHON="$$(cd $(VENV) && pwd)/bin/python"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help build demo test test-rust test-python explore fuzz valgrind lint format bench compare soak \
    wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- the environment -------------------------------------------------------------------------------------------------

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

# requirements-build.txt is what pyproject.toml builds with; requirements-test.txt its extra "test"; and so on.
# The file is written last: it stands for "installed".
$(VENV)/requirements-%.txt: pyproject.toml $(VENV)/pyvenv.cfg
	$(PY) -c 'import sys, tomllib; \
	    p = tomllib.load(open("pyproject.toml", "rb")); \
	    all = p["project"]["optional-dependencies"] | {"build": p["build-system"]["requires"]}; \
	    print(*all[sys.argv[1]], sep="\n")' $* > $@.part
	$(PY) -m pip install --quiet -r $@.part
	mv $@.part $@

# An editable install: Python sources are used in place, Rust sources are compiled when they change.
$(VENV)/installed: $(RUST_SOURCES) pyproject.toml $(VENV)/requirements-build.txt
	@echo "Compiling splitwood: a minute the first time"
	PIP_QUIET=1 $(IN_VENV) $(PY) -m maturin develop --release --quiet
	touch $@

build: $(VENV)/installed ## compile the package in release mode and install it in the environment

# ---- use and check ---------------------------------------------------------------------------------------------------

# The loaders of the real data are those of `make compare`.
demo: $(VENV)/installed $(VENV)/requirements-demo.txt ## real data beside scikit-learn: held-out scores and times, in a minute
	PYTHONPATH=benches $(PY) examples/demo.py

test: test-rust test-python ## all the tests: Rust, documentation, Python

# Random cases are the same every time, so that what fails is the change.
test-rust: ## Rust tests and documentation tests; no Python needed
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} $(CARGO) test --quiet

test-python: $(VENV)/installed $(VENV)/requirements-test.txt ## Python tests on the release build
	$(PY) -m pytest $(PYTEST_ARGS)

explore: $(VENV)/installed $(VENV)/requirements-test.txt ## the property tests, on other random cases each time
	$(CARGO) test --quiet --tests
	HYPOTHESIS_PROFILE=explore $(PY) -m pytest $(PYTEST_ARGS)

# Cases are others each time; what fails prints how to try it again.
fuzz: $(VENV)/installed $(VENV)/requirements-test.txt ## wild input for minutes: FUZZ_TIMES as many cases as in the tests
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --test fuzz
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --lib model::tests::mutations
	FUZZ_TIMES=$(FUZZ_TIMES) HYPOTHESIS_PROFILE=explore $(PY) -m pytest tests/python/test_wild.py $(PYTEST_ARGS)

# The unit tests whose code has unsafe blocks.
valgrind: ## memcheck over the tests of the unsafe kernels
	PROPTEST_RNG_SEED=1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9" \
	    $(CARGO) test --quiet --lib -- --test-threads=1 predict:: threads:: memory::

lint: $(VENV)/installed $(VENV)/requirements-lint.txt ## rustfmt, clippy, ruff, mypy, stubtest
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --all-targets -- -D warnings
	$(WITH_PYTHON) $(CARGO) clippy --quiet --all-targets --features python -- -D warnings
	$(PY) -m ruff check $(PYTHON_DIRS)
	$(PY) -m ruff format --check $(PYTHON_DIRS)
	$(PY) -m mypy
	$(PY) -m mypy.stubtest splitwood._core

format: $(VENV)/requirements-lint.txt ## rewrite the sources in the house style
	$(CARGO) fmt
	$(PY) -m ruff check --fix --exit-zero --quiet $(PYTHON_DIRS)
	$(PY) -m ruff format $(PYTHON_DIRS)

# ---- measure ---------------------------------------------------------------------------------------------------------

bench: ## Rust benchmarks: kernels, whole fits and predictions
	$(CARGO) bench

# A whole run rewrites docs/benchmarks, a part of one (COMPARE_ARGS) goes to target/compare.
compare: $(VENV)/installed $(VENV)/requirements-bench.txt ## times, losses and memory beside the peers' (COMPARE_ARGS=--quick: three minutes)
	PYTHONPATH=benches $(PY) -m compare $(COMPARE_ARGS)

soak: $(VENV)/installed ## 16 threads that fit and predict on shared models for a minute, every result checked
	$(PY) benches/soak.py $(SOAK_ARGS)

# ---- ship ------------------------------------------------------------------------------------------------------------

# The wheel is tried in an environment of its own, outside this folder, that goes away again.
wheel: $(VENV)/requirements-build.txt ## build a wheel in dist/ and try it in a clean environment
	rm -rf dist
	$(PY) -m maturin build --release --quiet --out dist --interpreter $(PY)
	set -e; \
	wheel=$$(ls "$$(pwd)"/dist/splitwood-*-abi3-*.whl); \
	smoke="$$(pwd)/examples/wheel_smoke.py"; \
	away=$$(mktemp -d); \
	trap 'rm -rf "$$away"' EXIT; \
	trap 'exit 1' HUP INT TERM; \
	$(PYTHON) -m venv "$$away/venv"; \
	cd "$$away"; \
	venv/bin/python -m pip install --quiet "$$wheel"; \
	venv/bin/python -I "$$smoke"; \
	echo "$$wheel"

clean: ## remove everything that was built, and the environment
	if [ -e $(VENV)/pyvenv.cfg ]; then rm -rf $(VENV); fi
	rm -rf target dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests examples benches -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/splitwood/*.so
