# Needs python3 (3.11 or later), cargo and make. Everything Python lives in $(VENV), inside this clone.

PYTHON ?= python3
CARGO ?= cargo
VENV ?= .venv
PYTEST_ARGS ?=
# Worker processes of pytest. More than four gain little.
PYTEST_WORKERS ?= auto --maxprocesses=4
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

# No recipe calls make. cargo would look for the job server of `make -j`, which recipes can't reach.
unexport MAKEFLAGS MFLAGS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# `setup` and `compile-tests` do nothing that `test` does not do; CI runs them beside the linters.
.PHONY: help build demo setup compile-tests test test-rust test-python explore fuzz valgrind lint lint-rust lint-python \
    format bench compare soak wheel clean

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

# Under `make -j`, one pip at a time for packages that share dependencies.
$(VENV)/requirements-lint.txt: | $(VENV)/requirements-build.txt
$(VENV)/requirements-test.txt $(VENV)/requirements-bench.txt: | $(VENV)/installed

# An editable install: Python sources are used in place, Rust sources are compiled when they change.
$(VENV)/installed: $(RUST_SOURCES) pyproject.toml $(VENV)/requirements-build.txt
	@echo "Compiling splitwood: a minute the first time"
	PIP_QUIET=1 $(IN_VENV) $(PY) -m maturin develop --release --quiet
	touch $@

build: $(VENV)/installed ## compile the package in release mode and install it in the environment

setup: $(VENV)/installed $(VENV)/requirements-lint.txt $(VENV)/requirements-test.txt ## build, and what lint and test need

compile-tests: ## compile the Rust tests without running them
	$(CARGO) test --quiet --no-run

# ---- use and check ---------------------------------------------------------------------------------------------------

# The loaders of the real data are those of `make compare`.
demo: $(VENV)/installed $(VENV)/requirements-demo.txt ## real data beside scikit-learn: held-out scores and times, in a minute
	PYTHONPATH=benches $(PY) examples/demo.py

test: test-rust test-python ## all the tests: Rust, documentation, Python

# Random cases are the same in every run, so that a failure is due to the change.
test-rust: ## Rust tests and documentation tests; no Python needed
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} $(CARGO) test --quiet

test-python: $(VENV)/installed $(VENV)/requirements-test.txt ## Python tests on the release build
	$(PY) -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal $(PYTEST_ARGS)

explore: $(VENV)/installed $(VENV)/requirements-test.txt ## the property tests, on other random cases each time
	$(CARGO) test --quiet --tests
	HYPOTHESIS_PROFILE=explore $(PY) -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal $(PYTEST_ARGS)

# The cases differ from run to run; a failure prints how to repeat it.
fuzz: $(VENV)/installed $(VENV)/requirements-test.txt ## wild input for minutes: FUZZ_TIMES as many cases as in the tests
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --test all fuzz::
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --lib model::tests::mutations
	FUZZ_TIMES=$(FUZZ_TIMES) HYPOTHESIS_PROFILE=explore $(PY) -m pytest tests/python/test_wild.py $(PYTEST_ARGS)

# The unit tests of every module that has unsafe code, from the paths of its files: src/predict/walk.rs is
# predict::walk. The bindings, src/python, have no unit tests: they need an interpreter.
UNSAFE_MODULES = $(shell grep -rlE 'unsafe (\{|fn|impl)' src --include='*.rs' --exclude-dir=python | LC_ALL=C sort \
    | sed -E 's,^src/,,; s,(/mod)?[.]rs$$,,; s,/,::,g; s,$$,::,')

valgrind: ## memcheck over the tests of the modules with unsafe code
	@test -n "$(UNSAFE_MODULES)"
	@tests=$$($(CARGO) test --quiet --lib -- --list) && for module in $(UNSAFE_MODULES); do \
	    echo "$$tests" | grep -q "^$$module" || { echo "no test of the unsafe code in $$module"; exit 1; }; \
	done
	PROPTEST_RNG_SEED=1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9" \
	    $(CARGO) test --quiet --lib -- --test-threads=1 $(UNSAFE_MODULES)

lint: lint-python lint-rust ## rustfmt, clippy, ruff, mypy, stubtest, pyright, and the width of comments

# No comment line of a Rust file has more than 100 characters. ruff checks Python's.
lint-rust: $(VENV)/pyvenv.cfg ## rustfmt, clippy without and with the bindings, the width of comments
	$(CARGO) fmt --check
	LC_ALL=C.UTF-8 git grep -nE -e '^.{101}' --and -e '^ *//' -- '*.rs'; test $$? -eq 1
	$(CARGO) clippy --quiet --all-targets -- -D warnings
	$(WITH_PYTHON) $(CARGO) clippy --quiet --all-targets --features python -- -D warnings

lint-python: $(VENV)/installed $(VENV)/requirements-lint.txt ## ruff, mypy, stubtest, pyright
	$(PY) -m ruff check $(PYTHON_DIRS)
	$(PY) -m ruff format --check $(PYTHON_DIRS)
	$(PY) -m mypy
	$(PY) -m mypy.stubtest --mypy-config-file pyproject.toml splitwood._core
	$(PY) -m pyright --pythonpath $(PY) tests/python/typed_sample.py

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
