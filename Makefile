# Two commands on a machine with Python 3.11+, make and a C++20 compiler: `make demo` and `make test`.
# Everything else that is needed is installed into .venv.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
SOURCES := pyproject.toml CMakeLists.txt $(shell find native -name '*.hpp' -o -name '*.cpp')

# `make test` tries the same examples of the property tests in every run. `make explore` runs these tests alone, with
# TIMES as many examples, drawn at random. It prints its seed first; `make explore SEED=...` draws the same ones again.
SEED  := $(or $(SEED),$(shell date +%s))
TIMES ?= 20

.PHONY: demo test explore attack lint quiet-lint native-test quiet-native-test python-test browser-test fuzz bench docs clean

demo: $(VENV)/.installed
	$(BIN)/thresher demo

# The parts wait for each other only where they must. Lint and the native tests are shown if they fail.
test:
	$(MAKE) -j 3 python-test quiet-lint quiet-native-test

quiet-lint: $(VENV)/.tested
quiet-lint quiet-native-test: quiet-%:
	@mkdir -p build
	@$(MAKE) --no-print-directory $* > build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@echo "$* passed"

# Signatures of estimators name each parameter, so that neighbours look alike: they are left out.
lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@mkdir -p build
	$(BIN)/symilar -d 12 -i --ignore-docstrings --ignore-signatures $$(git ls-files 'src/*.py') > build/duplicates.txt
	@grep -q ' duplicates=0 ' build/duplicates.txt || { cat build/duplicates.txt; exit 1; }
	git ls-files 'native/*.cpp' 'native/*.hpp' | xargs $(BIN)/clang-format --dry-run -Werror

native-test:
	$(MAKE) -C native test -j $(JOBS)

python-test: $(VENV)/.tested
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal

explore: $(VENV)/.tested
	@echo "To repeat this run: make explore SEED=$(SEED) TIMES=$(TIMES)"
	EXPLORE_TIMES=$(TIMES) $(BIN)/pytest -n $(JOBS) -m hypothesis --hypothesis-profile=explore --hypothesis-seed=$(SEED)

# Damaged and crafted files, CASES of each kind, for at most ATTACK_SECONDS. It prints its seed first, too.
CASES ?= 10000
ATTACK_SECONDS ?= 3600

attack: $(VENV)/.tested
	$(BIN)/python -m tests.attack --seed $(SEED) --cases $(CASES) --seconds $(ATTACK_SECONDS) --jobs $(JOBS)

# Reports in Chromium (apt-get install chromium chromium-driver), checked by axe-core (npm). Skips what is missing.
AXE := build/axe/node_modules/axe-core/axe.min.js

browser-test: $(VENV)/.tested
	@command -v chromium chromedriver > /dev/null || echo "There is no chromium with its chromedriver: the tests are skipped."
	@test -f $(AXE) || ! command -v npm > /dev/null || npm install --silent --prefix build/axe axe-core
	THRESHER_AXE=$$(ls $(AXE)) $(BIN)/pytest -q -s tests/browser

fuzz:
	$(MAKE) -C native fuzz

bench: $(VENV)/.tested
	$(BIN)/python -m benchmarks

docs: $(VENV)/.tested
	$(BIN)/pip install -q --group docs
	$(BIN)/pdoc -d numpy -o build/docs thresher
	@echo "The reference is in build/docs/index.html, the guides are in docs/."

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Thresher needs Python 3.11 or later: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	@touch $@

$(VENV)/.installed: $(VENV)/.made $(SOURCES)
	$(BIN)/pip install -q -e .
	@touch $@

# Python compiles the modules that the tests import when it first needs them: most are never imported.
$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install -q --no-compile --group test --group lint
	@touch $@

clean:
	rm -rf build $(VENV)
