# A few commands do everything; `make` alone lists them. Each installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check scripts bench reliability fuzzing mutation kills soak docs site wheel clean

help:  ## list the commands
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing flockwise into .venv (once)"
	@$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.core Makefile
	@echo "installing the test tools into .venv (once)"
	@$(PIP) --editable '.[dev,dashboard,flower-simulation,tuning]'
	@touch $@

demo: .venv/.core  ## train a clustered federation on embedded data and write its report
	@$(BIN)/flockwise demo

test: .venv/.dev  ## run all tests and hold the coverage that pyproject.toml asks for
	@$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=

check: .venv/.dev scripts  ## lint, format and type check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The linter of the page scripts comes from npm. Without npm the rest is still checked, and this says so.
scripts:
	@if ! command -v npm >/dev/null; then echo "left out: biome on the page scripts: npm is not installed"; \
	elif ! $(MAKE) --silent node_modules/.installed; then echo "left out: biome on the page scripts: npm could not install it"; \
	else node_modules/.bin/biome check --error-on-warnings; fi

node_modules/.installed: package.json
	@npm install --silent --no-audit --no-fund
	@touch $@

bench: .venv/.dev  ## short benchmarks, as ratios measured in the same run
	@$(BIN)/python benchmarks/server_math/rules.py --quick
	@$(BIN)/python benchmarks/performance/training_kernels.py --quick
	@if test -n "$$FLOCKWISE_DATA"; then $(BIN)/python benchmarks/performance/engine.py --quick; \
	else echo "left out: benchmarks/performance/engine.py: set FLOCKWISE_DATA to where MNIST lies"; fi

reliability: .venv/.dev  ## run the tests behind the promises of docs/reliability.md and count (TIMES=20: in full)
	@$(BIN)/python benchmarks/reliability/run.py --times $(or $(TIMES),1); status=$$?; \
	$(BIN)/python benchmarks/reliability/page.py; exit $$status

fuzzing: .venv/.dev  ## hostile bytes for every decoder, up to INPUTS=1000000 each; hours; goes on where it was
	@$(PIP) --editable '.[fuzz]'
	@$(BIN)/python -m tests.reliability.fuzz all --inputs $(or $(INPUTS),1000000); status=$$?; \
	$(BIN)/python benchmarks/reliability/page.py; exit $$status

mutation: .venv/.dev  ## faults put into kernels and gate, one at a time (MOST=150: of each file so many); hours
	@$(BIN)/python benchmarks/reliability/mutate.py --most $(or $(MOST),1000000); status=$$?; \
	$(BIN)/python benchmarks/reliability/page.py; exit $$status

kills: .venv/.dev  ## what is left of the 60 kills of Flower's processes; hours; goes on where it was
	@$(BIN)/python -m tests.reliability.kill_matrix --moments 20 --out benchmarks/results/flower_kills_more.json \
	  --after $$(ls benchmarks/results/flower_kills*.json | grep -v without); status=$$?; \
	$(BIN)/python benchmarks/reliability/page.py; exit $$status

soak: .venv/.dev  ## 10,000 rounds in one process, and the memory of a server beside its formula
	@$(BIN)/python benchmarks/reliability/soak.py; status=$$?; $(BIN)/python benchmarks/reliability/memory.py || status=$$?; \
	$(BIN)/python benchmarks/reliability/page.py; exit $$status

docs: .venv/.dev  ## write the generated pages: the config schema and the reference tables
	@$(BIN)/python docs/generate.py

site: .venv/.core  ## build the pages as a site with search into site/, which opens without a server
	@$(BIN)/python docs/site/build.py

wheel: .venv/.dev  ## build the wheel into dist/
	@$(PIP) build hatchling
	@$(BIN)/python -m build --wheel --no-isolation

clean:  ## remove .venv, node_modules and build products
	rm -rf .venv node_modules build dist site
