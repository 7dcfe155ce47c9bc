# Everything a fresh machine needs is Python 3.11+, make and the package registries.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NODE   := tests/server/clients/node_modules
UV     := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
# Many tests wait for a process, so there are more of them at a time than cores.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 2) * 2)')
export UV_PYTHON_DOWNLOADS = never
export UV_PROJECT_ENVIRONMENT = $(VENV)
# The tests start hundreds of processes, and each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
# The theme advertises its successor on every build.
export NO_MKDOCS_2_WARNING = 1

.PHONY: setup demo test unit thorough check format bench conformance soak field twins browser matrix bridges pythons fuzz newcomer checklist docs clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# uv itself, for machines that do not have it, in a folder of its own so that .venv holds only the project.
.uv/bin/uv:
	@echo "Getting uv, which installs the rest ..."
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.ready: pyproject.toml uv.lock | $(UV)
	@echo "Making $(VENV) with everything in it; this takes a minute the first time ..."
	@$(UV) sync --quiet --frozen --all-extras --python $(PYTHON)
	@touch $@

# Clients written in TypeScript, for the tests of the servers; node itself comes with .venv.
$(NODE)/.ready: $(dir $(NODE))package.json $(dir $(NODE))package-lock.json | $(VENV)/.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --prefix $(dir $(NODE)) --ignore-scripts --loglevel=error
	@touch $@

setup: $(VENV)/.ready  ## make .venv with every extra and the failwell command

demo: setup  ## one agent on a real server, without Failwell and with it
	@$(BIN)/failwell demo

test: check unit  ## everything that must hold

unit: setup $(NODE)/.ready  ## the tests alone
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not thorough and not browser"

thorough: setup $(NODE)/.ready  ## the tests that take long: growth of work, soaks, every pair
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "thorough"

browser: setup  ## pages in a real browser, and queries by a real Prometheus; Debian's, which are installed if they are not there
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }
	@command -v prometheus >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus >/dev/null; }
	FAILWELL_BROWSER=1 $(BIN)/pytest -m browser tests

check: setup  ## format, lint, types, layering, sizes, docs
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml > .layers.log || { cat .layers.log; exit 1; }
	$(BIN)/python tools/check_exports.py > .exports.log || { cat .exports.log; exit 1; }
	$(BIN)/python tools/sizes.py --check
	$(BIN)/python tools/prose.py --check
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/checklist.py --check

format: setup  ## rewrite the code the way check wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup  ## the site, in site/
	$(BIN)/mkdocs build --strict

bench: setup  ## ratios against peers, measured in one run; how time grows; how agents recover
	@failed=0; for part in bench bench_growth bench_server bench_client bench_relay bench_http bench_recovery bench_store; do $(BIN)/python tools/$$part.py || failed=1; done; exit $$failed

conformance: setup  ## the official suite on one server: alone, with install, and behind failwell wrap --listen; on a client inside Recovering
	$(BIN)/python tools/suite.py

soak: setup  ## a hundred calls at a time for a minute: no lost answer, no wrong one, no growth; fifty agents that reserve; the two ledgers; the relay's; replicas and relays that share their keys
	$(BIN)/python tools/soak.py
	$(BIN)/python tools/soak_reservations.py
	$(BIN)/python tools/soak_ledger.py
	$(BIN)/python tools/soak_real.py
	$(BIN)/python tools/soak_relay.py
	$(BIN)/python tools/soak_shared.py
	$(BIN)/python tools/soak_shared.py --relays
	$(BIN)/python tools/soak_shared.py --store postgresql

field: setup  ## the recovering client and the relay on published servers of other people, installed into .field
	$(BIN)/python tools/field_client.py --at-a-time 4
	$(BIN)/python tools/field_relay.py
	$(BIN)/python tools/field_http.py
	$(BIN)/python tools/field_install.py
	$(BIN)/python tools/field_check.py

matrix: setup  ## every failure on every generation of the SDKs, in environments of their own in .matrix
	$(BIN)/python tools/matrix.py

bridges: setup  ## every failure through the agent frameworks that bring an SDK of their own, in environments of their own in .matrix
	$(BIN)/python tools/bridges.py

pythons: setup  ## the tests that start few processes, on each Python from 3.11 to 3.14 that is found, in environments in .pythons
	$(BIN)/python tools/pythons.py

twins: setup $(NODE)/.ready  ## what the checker finds on servers with one planted defect, and on their mended twins
	$(BIN)/python tests/check/whole.py
	$(BIN)/python tests/check/heldout/held.py

fuzz: setup  ## the laws, on many more examples than make test tries
	FAILWELL_EXAMPLES=4000 $(BIN)/pytest -n auto -m hypothesis tests/laws
	$(UV) run --quiet --frozen --all-extras --group fuzz python tools/fuzz.py

newcomer: setup  ## the README word for word, in bare virtual environments: every way to install, every seat; the steps of the container file
	$(BIN)/python tools/newcomer.py
	$(BIN)/python tools/container.py

checklist: setup  ## docs/contracts.md: each line of the contracts' checklist with the tests that prove it
	$(BIN)/python tools/checklist.py

clean:
	rm -rf $(VENV) .uv $(NODE) .field .matrix .pythons site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .layers.log .exports.log
