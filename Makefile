# Inkcap's commands. `make help` lists them; each is safe to run again.

VENV      = .venv
BIN       = $(VENV)/bin
WORKSPACE = .
PORT      = 8765
JOBS      = 2
WORKERS   = 3
LOCKED    = yes
TALLY     = fortress-tally.jsonl

# Stamps: what is installed, renewed only when pyproject.toml or a lock changes.
RUNTIME = $(VENV)/.inkcap-runtime
DEV     = $(VENV)/.inkcap-dev
SUPPLY  = $(VENV)/.inkcap-supply
INSTALL = $(BIN)/python tools/installing.py $(if $(filter no,$(LOCKED)),--unlocked)

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.PHONY: help studio test check format bench soak offline docs lock audit sbom clean style lint types layers budgets front web browser

help:
	@echo "make studio    install Inkcap and open the studio (WORKSPACE=folder, PORT=8765)"
	@echo "make test      every check and every test"
	@echo "make check     format, lint, types, layers, size budgets"
	@echo "make format    put the code into its form"
	@echo "make bench     the benchmarks, as ratios"
	@echo "make soak      the tests that take minutes or hours; their figures go into docs/fortress.md"
	@echo "make offline   the tests, on a machine without a network (TESTS=folder for some of them)"
	@echo "make docs      write the reference pages anew"
	@echo "make lock      write locks/ anew from pyproject.toml (UPGRADE=yes takes the newest versions)"
	@echo "make audit     look for known faults in what is locked, for Python and npm"
	@echo "make sbom      write the bills of materials into dist/"
	@echo "make clean     remove the virtual environment and every cache"

studio: $(RUNTIME) front
	@$(BIN)/inkcap studio "$(WORKSPACE)" --port "$(PORT)"

# Small networks gain nothing from threads; tests that wait for processes leave room for a third worker.
test: $(DEV) front browser
	@$(MAKE) --no-print-directory check
	@OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The parts side by side: pyright takes the longest, the others fit beside it.
check: $(DEV)
	@$(MAKE) --no-print-directory -k -j $(JOBS) types style lint layers budgets web

style: $(DEV)
	@$(BIN)/ruff format --check --quiet . || { echo "ruff: some files are not in form: run 'make format'"; exit 1; }

lint: $(DEV)
	@$(BIN)/ruff check --quiet .

types: $(DEV)
	@$(BIN)/pyright

layers: $(DEV)
	@$(BIN)/lint-imports --no-logo

# The front end is built when web/ has changed since; both need no Node on the machine.
front: $(RUNTIME)
	@$(BIN)/python tools/front_end.py

web: $(DEV)
	@$(BIN)/python tools/front_end.py --check

# Some tests draw in a real browser.
browser: $(DEV)
	@$(BIN)/python tools/browser.py

budgets: $(DEV)
	@$(BIN)/python tools/budgets.py

format: $(DEV)
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

bench: $(DEV) front browser
	@$(BIN)/python -m pip install -qq -e '.[bench]'
	@$(BIN)/inkcap bench
	@$(BIN)/inkcap bench --inference
	@$(BIN)/python benchmarks/run.py

# What failed is told at the end; what was counted before it is on the page all the same.
soak: $(DEV) front browser
	@rm -f "$(TALLY)"
	@OMP_WAIT_POLICY=passive INKCAP_TALLY="$(abspath $(TALLY))" $(BIN)/python -m pytest -m soak $(TESTS); \
	    status=$$?; $(BIN)/python tools/scoreboard.py "$(TALLY)" && exit $$status

# A network name space of its own: loopback is there, and nothing else.
offline: $(DEV) front browser
	@OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 $(BIN)/python tools/offline.py \
	    $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

docs: $(DEV)
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/scoreboard.py

lock: $(SUPPLY)
	@$(BIN)/python tools/lock.py $(if $(filter yes,$(UPGRADE)),--upgrade)

audit: $(SUPPLY)
	@$(BIN)/python tools/audit.py

sbom: $(SUPPLY)
	@$(BIN)/python tools/sbom.py dist

clean:
	@rm -rf $(VENV) dist build web/node_modules src/inkcap/studio/web .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): pyproject.toml locks/studio.txt
	@$(MAKE) --no-print-directory $(VENV)/.usable
	@echo "installing Inkcap (the first time takes a few minutes: torch is large)"
	@$(INSTALL) studio
	@touch $@

$(DEV): pyproject.toml locks/dev.txt
	@$(MAKE) --no-print-directory $(VENV)/.usable
	@echo "installing Inkcap and its test tools (the first time takes a few minutes: torch is large)"
	@$(INSTALL) dev
	@touch $@ $(RUNTIME)

$(SUPPLY): $(DEV) locks/supply.txt
	@$(INSTALL) supply
	@touch $@

# A virtual environment whose making was broken off lacks its pip or is none at all, and is made again.
.PHONY: $(VENV)/.usable
$(VENV)/.usable:
	@if ! $(BIN)/python -c 'import sys; from pip import __version__; sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)' 2>/dev/null; then \
	    for python in $(PYTHON) python3.11 python3; do \
	        if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	            exec "$$python" -m venv $(VENV); \
	        fi; \
	    done; \
	    echo "Inkcap needs Python 3.11 or newer, and neither python3.11 nor python3 is one: install it, or say where it is with make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	fi
