# Every target works in a fresh clone with python3 and make alone: the virtual environment is made on first use,
# and a stamp per extra keeps later runs from installing again.

PYTHON ?= python3
VENV := .venv
# Tests that EVERY_SAMPLE takes more of: with checks of modules and bounds, and as users run them.
CHECKED_SWEEPS := tests/fuzz tests/numerics tests/weaknesses/test_levels.py tests/weaknesses/test_half.py \
  tests/lowering/test_mathlib.py tests/lowering/test_splat.py tests/lowering/test_solve_lanes.py \
  tests/lowering/test_lir_tile_matmuls.py tests/lowering/test_bf16_products.py tests/lowering/test_int8_products.py \
  tests/weaknesses/test_bf16_products.py tests/distributed
SWEEPS := tests/benchmarks tests/face tests/lowering tests/transforms tests/weaknesses tests/test_step_module.py
BIN := $(VENV)/bin
STAMP = $(VENV)/.installed-

# FileCheck files that have a RUN line of every kind; pytest runs the lines of all files in process.
SMOKE := dialects/hir/ops dialects/hir/invalid dialects/mir/custom dialects/mir/dense lowering/lir_check_bounds \
  lowering/lir_merge_lengths lowering/rlx_to_lir pipelines/llama.hir frontends/convert_stablehlo_to_mir \
  frontends/convert_stablehlo_to_mir_missing frontends/target_stablehlo

# Tests start some hundreds of processes, each of which would compile all modules of the package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint bench fuzz faults mutations peers emulated browser docs notebooks site clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP)%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	$(BIN)/python -m xdsl_rlx.build_library
	@touch $@

demo: $(STAMP)demo
	$(BIN)/python examples/digits.py

test: $(STAMP)test
	$(BIN)/python -m pytest -n 2 --dist worksteal
	$(BIN)/lit --workers 2 $(SMOKE:%=tests/filecheck/%.mlir)

lint: $(STAMP)test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(STAMP)bench
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/functions.py
	$(BIN)/python benchmarks/kernels.py --json benchmarks/results-kernels.jsonl

fuzz: $(STAMP)test
	EVERY_SAMPLE=1 XDSL_RLX_CHECK=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(CHECKED_SWEEPS) --fuzz-cases 3000
	EVERY_SAMPLE=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(SWEEPS) $(CHECKED_SWEEPS:%=--ignore=%)
	$(BIN)/lit --workers 2 tests/filecheck

faults: $(STAMP)test $(STAMP)peers
	$(BIN)/python -m pytest -s tests/distributed/test_faults.py --fault-turns 20
	$(BIN)/python -m pytest -s tests/peers/test_torch_distributed.py -k fault --fault-turns 20

mutations: $(STAMP)test
	$(BIN)/python tests/mutations/run.py

peers: $(STAMP)peers
	$(BIN)/python -m pytest tests/peers

emulated: $(STAMP)emulated
	$(BIN)/python -m pytest tests/emulated

browser: $(STAMP)test
	$(BIN)/python -m pytest tests/browser

docs: $(STAMP)test
	$(BIN)/python docs/generate.py

notebooks: $(STAMP)test
	$(BIN)/python docs/run_notebooks.py

site: $(STAMP)docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d build/doctrees docs build/site

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info src/xdsl_rlx/machine_code .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
