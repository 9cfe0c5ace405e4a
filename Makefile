# Needs python3 (3.11 or later), cargo and make. Everything Python lives in $(VENV), inside this clone.

PYTHON ?= python3
CARGO ?= cargo
VENV ?= .venv
PYTEST_ARGS ?=
# Worker processes of pytest. More than four gain little.
PYTEST_WORKERS ?= auto --maxprocesses=4
COMPARE_ARGS ?=
FUZZ_TIMES ?= 50
ORACLE_NODES ?= 100000
SOAK_ARGS ?=

# Where a virtual environment has its programs.
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(VENV)/$(BIN)/python
PYTHON_DIRS := python tests/python tests/golden examples benches docs/site .github
# Folders count too: a file that was removed changes its folder.
RUST_SOURCES := $(shell find src) $(wildcard build.rs) Cargo.toml $(wildcard Cargo.lock)

# `maturin develop` installs into the environment that this variable names, unless conda says otherwise.
IN_VENV = env -u CONDA_PREFIX VIRTUAL_ENV="$$(cd $(VENV) && pwd)"
# The bindings are compiled against the environment's Python.
WITH_PYTHON = PYO3_PYTHON="$$(cd $(VENV) && pwd)/$(BIN)/python"

# No recipe calls make. cargo would look for the job server of `make -j`, which recipes can't reach.
unexport MAKEFLAGS MFLAGS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# `setup` and `compile-tests` do nothing that `test` does not do; CI runs them beside the linters.
.PHONY: help build demo setup compile-tests test test-rust test-python test-oldest explore fuzz valgrind docs lint lint-rust lint-python \
    format bench compare soak soak-cluster \
    wheel build-wheel build-sdist try-wheel try-sdist try-wheel-musl test-wheel test-free-threaded crate links publish \
    lint-workflows msrv clean

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
$(VENV)/requirements-test.txt $(VENV)/requirements-bench.txt $(VENV)/requirements-docs.txt: | $(VENV)/installed
# `make docs` by itself needs no packages of the tests.
ifneq ($(filter-out docs,$(MAKECMDGOALS)),)
$(VENV)/requirements-docs.txt: | $(VENV)/requirements-test.txt
endif

# An editable install: Python sources are used in place, Rust sources are compiled when they change.
$(VENV)/installed: $(RUST_SOURCES) pyproject.toml $(VENV)/requirements-build.txt
	@echo "Compiling splitwood: a minute the first time"
	PIP_QUIET=1 $(IN_VENV) $(PY) -m maturin develop --release --quiet
	touch $@

build: $(VENV)/installed ## compile the package in release mode and install it in the environment

# One of the Python tests builds the site.
FOR_TESTS = $(VENV)/installed $(VENV)/requirements-test.txt $(VENV)/requirements-docs.txt

setup: $(FOR_TESTS) $(VENV)/requirements-lint.txt ## build, and what lint and test need

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

test-python: $(FOR_TESTS) ## Python tests on the release build
	$(PY) -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal $(PYTEST_ARGS)

# The lowest versions that pyproject.toml allows, as constraints for pip. The extras demo, bench and lint are tools of
# this repository, for which new versions are good enough.
target/oldest.txt: pyproject.toml
	mkdir -p target
	$(PYTHON) -c 'import re, tomllib; \
	    p = tomllib.load(open("pyproject.toml", "rb")); \
	    extras = p["project"]["optional-dependencies"]; \
	    floors = p["build-system"]["requires"] + p["project"]["dependencies"] \
	        + extras["test"] + extras["onnx"] + extras["plot"]; \
	    parts = [re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", one).groups() for one in floors]; \
	    print(*sorted({f"{name}=={floor}" for name, floor in parts}), sep="\n")' > $@

# A new environment whenever a version changes: pip does not lower what is installed.
target/oldest/pyvenv.cfg: target/oldest.txt
	rm -rf target/oldest
	$(PYTHON) -m venv target/oldest

# `maturin develop` and both calls of pip read PIP_CONSTRAINT.
test-oldest: target/oldest/pyvenv.cfg ## Python tests with the lowest versions that pyproject.toml allows, on Python 3.11
	PIP_CONSTRAINT="$$(pwd)/target/oldest.txt" $(MAKE) VENV=target/oldest test-python

explore: $(FOR_TESTS) ## the property tests and the exact oracle, on other random cases each time
	$(CARGO) test --quiet --tests
	HYPOTHESIS_PROFILE=explore $(PY) -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal $(PYTEST_ARGS)
	$(PY) tests/python/oracle.py --nodes $(ORACLE_NODES) --large 300 --huge 60 --wide 60 --coded 2500

# The cases differ from run to run; a failure prints how to repeat it.
fuzz: $(VENV)/installed $(VENV)/requirements-test.txt ## wild input for minutes: FUZZ_TIMES as many cases as in the tests
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --test all fuzz::
	FUZZ_TIMES=$(FUZZ_TIMES) $(CARGO) test --quiet --release --lib model::tests::mutations
	FUZZ_TIMES=$(FUZZ_TIMES) HYPOTHESIS_PROFILE=explore $(PY) -m pytest tests/python/test_wild.py $(PYTEST_ARGS)

# The unit tests of every folder or file of src that has unsafe code: src/predict/walk.rs is predict.
# The bindings, src/python, have no unit tests: they need an interpreter.
UNSAFE_MODULES = $(shell grep -rlE 'unsafe (\{|fn|impl)' src --include='*.rs' --exclude-dir=python \
    | sed -E 's,^src/,,; s,/.*,,; s,[.]rs$$,,; s,$$,::,' | LC_ALL=C sort -u)

valgrind: ## memcheck over the tests of the modules with unsafe code
	@test -n "$(UNSAFE_MODULES)"
	@tests=$$($(CARGO) test --quiet --lib -- --list) && for module in $(UNSAFE_MODULES); do \
	    echo "$$tests" | grep -q "^$$module" || { echo "no test of the unsafe code in $$module"; exit 1; }; \
	done
	PROPTEST_RNG_SEED=1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9" \
	    $(CARGO) test --quiet --lib -- --test-threads=1 $(UNSAFE_MODULES)

# The pages are those of docs/ and the docstrings; the examples run. A warning is an error. With REPOSITORY, the pages link
# to it.
docs: $(VENV)/installed $(VENV)/requirements-docs.txt ## build the site in target/docs/html: guides, API reference, examples
	REPOSITORY="$(REPOSITORY)" $(PY) docs/site/build.py target/docs

lint: lint-python lint-rust lint-workflows ## rustfmt, clippy, ruff, mypy, stubtest, pyright, the width of comments, workflows

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

# The schemas are part of check-jsonschema; nothing is downloaded. zizmor finds steps that attackers could use. What a
# workflow runs is a target of this file, so that it can be run anywhere.
CHECK_SCHEMA = $(VENV)/$(BIN)/check-jsonschema --quiet --builtin-schema
lint-workflows: $(VENV)/requirements-lint.txt ## the files of .github, and CITATION.cff
	$(CHECK_SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(CHECK_SCHEMA) custom.github-workflows-require-timeout .github/workflows/*.yml
	$(CHECK_SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(CHECK_SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(CHECK_SCHEMA) vendor.dependabot .github/dependabot.yml
	$(CHECK_SCHEMA) vendor.citation-file-format CITATION.cff
	$(VENV)/$(BIN)/zizmor --offline --quiet .github
	@! grep -nE '\brun:( |$$)' .github/workflows/*.yml | grep -vE 'run: make |run:$$'
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml); \
	grep -qx "version: $$version" CITATION.cff || { echo "CITATION.cff: the version is not $$version"; exit 1; }

# Needs rustup, which installs that version of the compiler.
msrv: $(VENV)/pyvenv.cfg ## compile with the oldest Rust that Cargo.toml allows, without and with the bindings
	version=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	rustup toolchain install --profile minimal --no-self-update $$version && \
	rustup run $$version cargo check --quiet --all-targets --target-dir target/msrv && \
	$(WITH_PYTHON) rustup run $$version cargo check --quiet --features python --target-dir target/msrv

format: $(VENV)/requirements-lint.txt ## rewrite the sources in the house style
	$(CARGO) fmt
	$(PY) -m ruff check --fix --exit-zero --quiet $(PYTHON_DIRS)
	$(PY) -m ruff format $(PYTHON_DIRS)

# ---- measure ---------------------------------------------------------------------------------------------------------

bench: ## Rust benchmarks: kernels, whole fits and predictions
	$(CARGO) bench

# A whole run rewrites docs/benchmarks and the figures of other pages, a part of one (COMPARE_ARGS) goes to target/compare.
compare: $(VENV)/installed $(VENV)/requirements-bench.txt ## times, losses and memory beside the peers' (COMPARE_ARGS=--quick: three minutes)
	PYTHONPATH=benches $(PY) -m compare $(COMPARE_ARGS)

soak: $(VENV)/installed ## 16 threads that fit and predict on shared models for a minute, every result checked
	$(PY) benches/soak.py $(SOAK_ARGS)

# CLUSTER_SEED picks other moments.
soak-cluster: $(FOR_TESTS) ## 100 faults of Dask workers during fits, CLUSTER_MOMENTS of them; takes some 15 minutes
	CLUSTER_MOMENTS=$${CLUSTER_MOMENTS:-100} $(PY) -m pytest -n 0 -q -s tests/python/test_dask_failures.py

# ---- ship ------------------------------------------------------------------------------------------------------------

# The interpreter to compile the wheel for. A wheel for the stable ABI serves all from Python 3.11 on, but not free-threaded
# ones: python3.14t gives a wheel for that version.
WHEEL_PYTHON ?= $(PY)
# A target of rustc to compile the wheel for, such as x86_64-unknown-linux-musl or aarch64-unknown-linux-gnu.
RUST_TARGET ?=
# On Linux, zig is the linker: it links for an old glibc whatever the system has, for musl, and for other CPUs.
ifeq ($(shell uname -s),Linux)
WHEEL_ARGS ?= --zig --compatibility $(if $(findstring musl,$(RUST_TARGET)),musllinux_1_2,manylinux2014)
endif
# The wheel that is tried and tested, and the packages to test it with, in place of the extra "test".
WHEEL ?= dist/splitwood-*.whl
TEST_PACKAGES ?=

wheel: build-wheel build-sdist try-wheel try-sdist ## build a wheel and an sdist in dist/ and try both in clean environments

build-wheel: $(VENV)/requirements-ship.txt ## build a wheel in dist/: on Linux for glibc 2.17 and later (manylinux2014)
	rm -f dist/*.whl
	$(if $(RUST_TARGET),rustup target add $(RUST_TARGET))
	PATH="$$(cd $(VENV) && pwd)/$(BIN):$$PATH" $(PY) -m maturin build --release --quiet --out dist \
	    --interpreter $(WHEEL_PYTHON) $(if $(RUST_TARGET),--target $(RUST_TARGET)) $(WHEEL_ARGS)
	$(PY) -m twine check --strict dist/*.whl

build-sdist: $(VENV)/requirements-ship.txt ## build an sdist in dist/
	rm -f dist/*.tar.gz
	$(PY) -m maturin sdist --out dist
	$(PY) -m twine check --strict dist/*.tar.gz

# $(call try,FILE) installs a file with pip in an environment of its own, outside this folder, that goes away again, and
# runs two checks there: examples/wheel_smoke.py and the package's own. A `git` that fails comes first in the PATH.
define try
set -e; \
file=$$(ls "$$(pwd)"/$(1)); \
smoke="$$(pwd)/examples/wheel_smoke.py"; \
away=$$(mktemp -d); \
trap 'rm -rf "$$away"' EXIT; \
trap 'exit 1' HUP INT TERM; \
$(PYTHON) -m venv "$$away/venv"; \
cd "$$away"; \
mkdir no-git; \
printf '#!/bin/sh\necho "git was called: $$*" >&2\nexit 1\n' > no-git/git; \
chmod +x no-git/git; \
export PATH="$$away/no-git:$$PATH"; \
venv/$(BIN)/python -m pip install --quiet --prefer-binary "$$file"; \
venv/$(BIN)/python -I "$$smoke"; \
venv/$(BIN)/python -I -m splitwood; \
echo "$$file"
endef

try-wheel: ## install the wheel of dist/ in a clean environment and check it there
	$(call try,$(WHEEL))

try-sdist: ## compile and install the sdist of dist/ in a clean environment and check it there
	$(call try,dist/splitwood-*.tar.gz)

# The tests and what they read come from the sdist, the package from the wheel: nothing of this folder is used.
# For an interpreter for which some packages of the extra "test" have no wheels, TEST_PACKAGES names the others: tests
# that need a package which is not there are skipped.
test-wheel: ## run the Python tests of the sdist in dist/ on the wheel in dist/, outside this folder
	set -e; \
	file=$$(ls "$$(pwd)"/$(WHEEL)); \
	sdist=$$(ls "$$(pwd)"/dist/splitwood-*.tar.gz); \
	away=$$(mktemp -d); \
	trap 'rm -rf "$$away"' EXIT; \
	trap 'exit 1' HUP INT TERM; \
	$(PYTHON) -m venv "$$away/venv"; \
	cd "$$away"; \
	tar -xzf "$$sdist" --strip-components=1; \
	venv/$(BIN)/python -m pip install --quiet --prefer-binary "$$file$(if $(TEST_PACKAGES),,[test])" $(TEST_PACKAGES); \
	venv/$(BIN)/python -m pytest --numprocesses=$(PYTEST_WORKERS) --dist=worksteal $(PYTEST_ARGS)

# With PYTHON_GIL=0, an extension module of another package can't bring the lock back. `try-wheel` checks that ours does
# not: without the variable. shap and polars have no wheels for these interpreters.
FREE_THREADED_PACKAGES := pytest pytest-xdist hypothesis pandas pyarrow matplotlib tqdm onnx onnxruntime treelite
test-free-threaded: ## the same on a free-threaded interpreter, with the packages that have wheels for it
	PYTHON_GIL=0 $(MAKE) test-wheel TEST_PACKAGES="$(FREE_THREADED_PACKAGES)" \
	    PYTEST_ARGS="$(foreach name,categories frames without_sklearn,--ignore=tests/python/test_$(name).py) $(PYTEST_ARGS)"

# The version of the image's Python.
ALPINE_PYTHON ?= 3.13
try-wheel-musl: ## check the wheel of dist/ in a container of Alpine Linux, whose C library is musl
	docker run --rm --volume "$$(pwd):/splitwood:ro" --workdir /splitwood python:$(ALPINE_PYTHON)-alpine \
	    sh -c 'apk add --quiet make && make try-wheel PYTHON=python'

# Cargo compiles the library from the archive, too.
crate: ## build the crate's archive, compile it, and run the tests that it carries
	$(CARGO) package --quiet
	set -e; \
	away=$$(mktemp -d); \
	trap 'rm -rf "$$away"' EXIT; \
	trap 'exit 1' HUP INT TERM; \
	tar -xzf target/package/splitwood-*.crate -C "$$away" --strip-components=1; \
	CARGO_TARGET_DIR="$$(pwd)/target" $(CARGO) test --quiet --manifest-path "$$away/Cargo.toml"

# The address of the repository, which the packages name and README's links are made absolute with.
REPOSITORY ?=
links: ## in a checkout for a release, name the REPOSITORY in the metadata and make README's links absolute
	$(PYTHON) .github/absolute_links.py "$(REPOSITORY)"

# twine signs in by trusted publishing where it finds no password.
publish: $(VENV)/requirements-ship.txt ## upload everything in dist/ to the package index, if TAG is this version's
	test "$(TAG)" = "v$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)"
	$(PY) -m twine upload --non-interactive dist/*

clean: ## remove everything that was built, and the environment
	if [ -e $(VENV)/pyvenv.cfg ]; then rm -rf $(VENV); fi
	rm -rf target dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests examples benches -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/splitwood/*.so
