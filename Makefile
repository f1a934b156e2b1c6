# Four commands do everything; `make` alone lists them. Each installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check bench docs wheel clean

help:  ## list the commands
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/.core: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing flockwise into .venv (once)"
	@$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.core Makefile
	@echo "installing the test tools into .venv (once)"
	@$(PIP) --editable '.[dev,dashboard,flower-simulation]'
	@touch $@

demo: .venv/.core  ## train a clustered federation on embedded data and write its report
	@$(BIN)/flockwise demo

test: .venv/.dev  ## run all tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: .venv/.dev  ## lint, format and type check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/.dev  ## short benchmarks, as ratios measured in the same run
	@$(BIN)/python benchmarks/server_math.py --quick
	@$(BIN)/python benchmarks/training_kernels.py --quick
	@if test -n "$$FLOCKWISE_DATA"; then $(BIN)/python benchmarks/engine.py --quick; \
	else echo "left out: benchmarks/engine.py: set FLOCKWISE_DATA to where MNIST lies"; fi

docs: .venv/.dev  ## write the generated pages: the config schema and the reference tables
	@$(BIN)/python docs/generate.py

wheel: .venv/.dev  ## build the wheel into dist/
	@$(PIP) build hatchling
	@$(BIN)/python -m build --wheel --no-isolation

clean:  ## remove .venv and build products
	rm -rf .venv build dist
