# Everything happens in .venv, with the versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
# Tests of one file run mostly on one core, so that they share what they make.
SPREAD := --numprocesses auto --dist worksteal
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo serve test test-slow test-oldest test-newest fuzz bench bench-web peers pages docs screenshots look format setup clean

setup: .venv/installed

# The machine's own pip fills the environment, so that python3 needs no ensurepip.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --without-pip .venv
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --editable '.[dev]'
	touch $@

demo: setup
	@$(BIN)/veritally decide examples/clinics.csv --explain

# The page, with an example in it; the decisions are in page.db.
serve: setup
	@$(BIN)/veritally serve --database page.db --browse

# One thread for each test, since there is a test for each core.
test test-slow test-oldest test-newest: export OPENBLAS_NUM_THREADS := 1

# test is for every change; test-slow has the tests that are marked slow, and more random examples.
test: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest $(SPREAD)

test-slow: setup
	$(BIN)/pytest $(SPREAD) -m 'slow or hypothesis' --hypothesis-profile many

# The suite with the oldest versions that pyproject.toml declares, and with the newest there are.
test-oldest: .venv-oldest/installed
	.venv-oldest/bin/pytest $(SPREAD)

test-newest: .venv-newest/installed
	.venv-newest/bin/pytest $(SPREAD)

.venv-oldest/installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --without-pip .venv-oldest
	PIP_CONSTRAINT=constraints-oldest.txt $(PYTHON) -m pip --python .venv-oldest/bin/python install --quiet --editable '.[dev]'
	touch $@

.venv-newest/installed: pyproject.toml
	$(PYTHON) -m venv --without-pip .venv-newest
	PIP_CONSTRAINT= $(PYTHON) -m pip --python .venv-newest/bin/python install --quiet --upgrade --upgrade-strategy eager \
		--editable '.[dev]'
	touch $@

# Broken files of every form, many more than the tests try; START goes on after an interruption.
FILES ?= 5000
SEED ?= 0
START ?= 0
fuzz: setup
	$(BIN)/python tests/fuzz/runner.py --files $(FILES) --seed $(SEED) --start $(START)

bench: setup
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/before.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python docs/pages.py

# The page under load, on this machine alone, for about three minutes.
bench-web: setup
	$(BIN)/python benchmarks/web.py

# Other libraries have an environment of their own, since some need an older NumPy.
peers: .venv-peers/installed
	.venv-peers/bin/pytest --noconftest tests/peers
	cd benchmarks && OPENBLAS_NUM_THREADS=1 ../.venv-peers/bin/python -m peers

.venv-peers/installed: pyproject.toml benchmarks/peers/requirements.txt
	$(PYTHON) -m venv --without-pip .venv-peers
	PIP_CONSTRAINT= $(PYTHON) -m pip --python .venv-peers/bin/python install --quiet --editable . \
		--requirement benchmarks/peers/requirements.txt
	touch $@

# What is made of the code and of what was measured: the rules, the command, the figures for choosing a rule.
pages: setup
	$(BIN)/python docs/pages.py

docs: pages
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --editable '.[dev,docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in site/index.html"

# The pictures of docs/serve.md, in a real browser: apt-get install chromium.
screenshots: setup
	$(BIN)/python docs/screenshots.py

# The site in a real browser, which is Debian's: apt-get install chromium. Pictures are in look/.
look: docs .venv-browser/installed
	.venv-browser/bin/python tests/browser/look.py site

.venv-browser/installed: tests/browser/requirements.txt
	$(PYTHON) -m venv --without-pip .venv-browser
	PIP_CONSTRAINT= $(PYTHON) -m pip --python .venv-browser/bin/python install --quiet --requirement $<
	touch $@

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-peers .venv-browser site look fuzz-problems .mypy_cache .pytest_cache .ruff_cache .hypothesis
