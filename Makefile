# Every target sets up .venv by itself; a stamp per extra says what is installed and is older than
# pyproject.toml when it has to be installed again. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
BUSY := $(VENV)/.installing

.DEFAULT_GOAL := help
.PHONY: help demo test test-gpu check bench docs clean FORCE
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10

demo: $(VENV)/.core ## learn four classes from batch counts alone; table and demo.png
	@$(BIN)/tacit demo $(ARGS)

test: $(VENV)/.test ## run the tests; ARGS="-k oracles" chooses some
	@$(BIN)/python -m pytest $(ARGS)

test-gpu: $(VENV)/.test ## run the tests of tensors on a GPU instead of the processor
	@TACIT_TEST_DEVICE=cuda $(BIN)/python -m pytest tests/conformance/test_torch.py $(ARGS)

check: $(VENV)/.check ## lint, format, types, import layers, index of equations
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	$(BIN)/python scripts/equations.py --check
	$(BIN)/python -m pytest -q tests/apps/test_repository.py -k "layer"

bench: $(VENV)/.bench ## run the benchmarks; figures in out/*.json
	@mkdir -p out
	@failed=; for script in benchmarks/[!_]*.py; do \
	    name=$$(basename "$$script" .py); \
	    echo "$$script -> out/$$name.json"; \
	    $(BIN)/python "$$script" --json "out/$$name.json" $(ARGS) || failed="$$failed $$name"; \
	done; \
	test -z "$$failed" || { echo "no figures from:$$failed" >&2; exit 1; }

docs: $(VENV)/.docs ## build the pages into site/, warnings are errors
	@$(BIN)/python scripts/equations.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build dist out site demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +

# --- the environment -----------------------------------------------------------------------------

# An environment that is gone, was moved with its checkout, or was left in the middle of an
# installation is made anew.
SOUND := $(shell test ! -e $(BUSY) && $(BIN)/python -c '' 2>/dev/null && \
    test "$$(cat $(VENV)/.made 2>/dev/null)" = "$(CURDIR)" && echo yes)
ifneq ($(SOUND),yes)
$(VENV)/.made: FORCE
endif

$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "tacit needs Python 3.11 or newer, and there is no $(PYTHON);" \
	        "name one with make PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "tacit needs Python 3.11 or newer, and $(PYTHON) is" \
	        "$$("$(PYTHON)" -V 2>&1); name another with make PYTHON=python3.12." >&2; exit 1; }
	@echo "Making $(VENV) with $$("$(PYTHON)" -V 2>&1)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@echo "$(CURDIR)" >$@

# $(call install,requirement): a stamp only after pip has succeeded.
define install
	@echo "Installing $(1) (minutes at first, nothing later)"
	@touch $(BUSY)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e "$(1)"
	@rm $(BUSY)
	@touch $(VENV)/.core $@
endef

$(VENV)/.core: pyproject.toml $(VENV)/.made
	$(call install,.)

$(VENV)/.test $(VENV)/.check $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.made
	$(call install,.[$*])
