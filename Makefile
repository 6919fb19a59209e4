# Only Python >= 3.11, make and git are needed; everything else goes into .venv (and, for e2e, a user cache).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What the program needs to run is a seventh of what its development needs.
RUN_STAMP := $(VENV)/.installed-to-run
STAMP  := $(VENV)/.installed
DIST   := dist
RELEASE_STAMP := $(VENV)/.installed-to-release

.DEFAULT_GOAL := help
.PHONY: help deps run test thorough fuzz e2e e2e-all recordings matrix conformance simulate planted bench bench-intree bench-memory preemption-compare scale-down performance reference lint format types lock clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

deps: $(STAMP) ## install everything, pinned by hash, into .venv

PIP_INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check
# Without --no-deps, pip looks on the index for what the files pin already, and for a requirement with an extra it
# may want a version that is newer than the pinned one.
PIP_PINNED = $(PIP_INSTALL) --no-deps --require-hashes

$(RUN_STAMP): requirements.txt requirements-build.txt pyproject.toml clusterload/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	@echo "installing into $(VENV) (less than a minute the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_PINNED) -r requirements.txt -r requirements-build.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e . -e ./clusterload
	@$(BIN)/pip check --quiet
	@touch $@

$(STAMP): $(RUN_STAMP) requirements-dev.txt
	@echo "installing the tools for development into $(VENV) (about a minute the first time)"
	@$(PIP_PINNED) -r requirements-dev.txt
	@$(BIN)/pip check --quiet
	@touch $@

$(RELEASE_STAMP): $(STAMP) requirements-release.txt
	@$(PIP_PINNED) -r requirements-release.txt
	@touch $@

.PHONY: install
install: $(RUN_STAMP) ## the program alone, into .venv; less than a minute

run: $(RUN_STAMP) ## serve the bundled sample cluster in replace mode
	@$(BIN)/affinity-extender serve --cluster extender/samples/cluster.yaml --mode replace

# Where results count, tests fail for want of a tool; so there it is installed first.
ifeq ($(CI),true)
test e2e e2e-all: system-tools
e2e e2e-all: image-tools
endif

.PHONY: system-tools image-tools image sbom
system-tools: ## install what is no package of this Python: prometheus with its promtool, chromium, valgrind, Debian's own Python (as root)
	@{ command -v promtool && command -v chromium && command -v valgrind && /usr/bin/python3 -c 'import ensurepip'; } >/dev/null 2>&1 || { apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends prometheus chromium valgrind python3-venv >/dev/null; }

image-tools: ## install what builds the image: buildah and mmdebstrap (Debian, as root)
	@command -v buildah >/dev/null && command -v mmdebstrap >/dev/null || { apt-get -qq update && \
	  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends buildah mmdebstrap >/dev/null; } || \
	  echo "buildah and mmdebstrap cannot be installed, so no image is built"

image: sbom ## build the image without Docker, with buildah and Debian's packages, into dist/
	@release/image.sh $(DIST)

sbom: $(RELEASE_STAMP) ## list the parts of each program as CycloneDX, in dist/
	@mkdir -p $(DIST)
	@release/sbom.sh $(BIN)/cyclonedx-py $(DIST)

.PHONY: wheels chart krew release
wheels: $(RUN_STAMP) ## build the wheels of the program and of clusterload, into dist/; HOMEPAGE
	@HOMEPAGE=$(HOMEPAGE) $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(DIST) . ./clusterload

chart: $(RUN_STAMP) ## make the package of the Helm chart and its icon, in dist/; URL= where the icon will be found, HOMEPAGE
	@$(BIN)/python -m release.chart $(DIST) $(if $(URL),--url $(URL)) $(if $(HOMEPAGE),--homepage $(HOMEPAGE))

URL_FOUND = $(or $(URL),$(error URL= is missing: where the archives will be found))

krew: $(RUN_STAMP) ## make what krew installs the kubectl plugin from, in dist/; URL= where it will be found, HOMEPAGE
	@$(BIN)/python -m release.krew $(URL_FOUND) --output $(DIST) $(if $(HOMEPAGE),--homepage $(HOMEPAGE))

# In a copy, so that no packages of npm get between the sources.
PLUGIN = $(DIST)/headlamp
.PHONY: headlamp
headlamp: ## build the plugin for Headlamp, into dist/headlamp/plugins (needs Node.js 20 and npm)
	@mkdir -p $(PLUGIN)/plugins/affinity-extender && cp -R integrations/headlamp/. $(PLUGIN)
	@cd $(PLUGIN) && npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error && npm run lint && npm run tsc && CI=true npm test && npm run build
	@cp $(PLUGIN)/dist/main.js $(PLUGIN)/package.json $(PLUGIN)/plugins/affinity-extender

VERSION = $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
# As Python writes it: 1.0.0rc1.
OF_WHEELS = $(subst -rc.,rc,$(VERSION))
ARTEFACTS = affinity-extender-$(VERSION).oci.tar affinity-extender.cdx.json clusterload.cdx.json affinity-extender-$(VERSION).tgz affinity-extender.svg \
  affinity_extender-$(OF_WHEELS)-py3-none-any.whl clusterload-$(OF_WHEELS)-py3-none-any.whl affinity.yaml \
  $(foreach platform,linux-amd64 linux-arm64 darwin-amd64 darwin-arm64,kubectl-affinity-$(platform).tar.gz)

ifeq ($(origin VERSION),command line)
release: ## with VERSION= instead, tag a release, if CI has passed for this commit
	@$(PYTHON) -m release.tagging '$(VERSION)'
else
# First what needs tools that may be missing.
release: ## make every artefact of a release, their sums and provenance, in dist/; URL= where they will be found, HOMEPAGE, KEY= to sign with
	@$(MAKE) --no-print-directory image chart wheels krew URL=$(URL_FOUND)
	@cd $(DIST) && sha256sum $(ARTEFACTS) >SHA256SUMS && cat SHA256SUMS
	@$(BIN)/python -m release.provenance $(DIST) --url $(URL_FOUND) $(if $(HOMEPAGE),--homepage $(HOMEPAGE))
	@$(if $(KEY),release/sign.sh $(KEY) $(SIGNED:%=$(DIST)/%),echo "not signed: KEY= names no private key")
endif

SIGNED = SHA256SUMS provenance.intoto.json
.PHONY: sign
sign: ## sign the sums and the provenance of a release in dist/; KEY=, a private key on P-256
	@release/sign.sh $(or $(KEY),$(error KEY= is missing: a private key on P-256)) $(SIGNED:%=$(DIST)/%)

.PHONY: outdated
outdated: $(STAMP) ## which of the pinned packages have newer versions (asks the index); `make lock` takes them
	@$(BIN)/pip list --outdated --disable-pip-version-check

MYPY := $(BIN)/mypy extender affinityctl clusterload simulation tests bench release
SLOWEST := --durations=20 --durations-min=5
PYTEST := $(BIN)/python -m pytest tests --ignore=tests/e2e -n auto --maxprocesses 4 $(SLOWEST)

test: lint $(STAMP) ## lint, types, layers, unit, property, wire, fault and conformance tests
	@.ci/beside "$(MYPY)" $(PYTEST) --dist loadfile -m "not thorough"

thorough: $(STAMP) ## those of these tests that take long: random clusters and streams of events, fuzz, memory, a browser
	@$(PYTEST) --dist worksteal -m thorough

.PHONY: amputation
amputation: $(STAMP) ## each optional feature taken out of a copy, with lint, types and tests of what is left, and its own tests alone (minutes for each)
	@$(BIN)/python -m pytest tests/features/whole_amputation.py -v -n auto --maxprocesses 4

# These need no control plane, and most other tests wait for theirs: so they run beside, and are shown after.
BESIDE := $(addprefix tests/e2e/test_,upstream_tables.py differential.py preemption_differential.py verdict_differential.py kubeconfig_differential.py eviction_differential.py controllers_differential.py leaderelection_differential.py kubelet_admission.py image.py workflow.py)

# What goes by the version of Python.
BY_PYTHON := $(addprefix tests/,$(addprefix deploy/test_,krew.py release.py wheel.py samples.py) commands config wire test_files.py test_tokens.py)

.PHONY: pythons
pythons: $(STAMP) ## tests that go by Python's version, with the oldest and the newest Python on this machine
	@.ci/pythons $(BY_PYTHON)

.PHONY: debian-pythons
debian-pythons: $(STAMP) image-tools ## time `make run` and `make test` with the Pythons of Debian 12, 13 and testing, each from nothing (as root, half an hour)
	@$(BIN)/python -m bench.pythons $(call results,pythons)

# The others wait most of the time, so they share the machine, each process with a control plane of its own.
e2e: $(STAMP) ## the same project against a real control plane (builds it into a user cache first)
	@$(BIN)/python -m tests.e2e.controlplane
	@.ci/beside '$(BIN)/python -m pytest $(BESIDE) -v -m "not long" $(SLOWEST)' \
	  $(BIN)/python -m pytest tests/e2e $(BESIDE:%=--ignore=%) -v -m "not long" -n 3 --dist loadfile $(SLOWEST)

e2e-all: $(RELEASE_STAMP) ## e2e, and its tests that take longer: before a release, and for another Kubernetes
	@$(BIN)/python -m pytest tests/e2e -v --releases newest --questions 5000

recordings: $(STAMP) ## record the real control plane anew: for the simulation to be compared with, and the puzzles
	@$(BIN)/python -m pytest tests/e2e/test_recordings.py tests/e2e/groups/test_recordings.py tests/e2e/test_puzzles.py -v --record

fuzz: $(STAMP) ## mutated callbacks, objects, files and event streams; FUZZ_SECONDS for each, FUZZ_SEED
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} FUZZ_SEED=$${FUZZ_SEED:-$$$$} $(BIN)/python -m pytest tests/fuzz -s -q

simulate: $(STAMP) ## the program in simulated clusters, until BINDS (1,000,000) were contested, or PREEMPTIONS, EVICTIONS or MOVES, or for SEEDS or SECONDS; of one THEME or of all; or one SEED again
	@$(BIN)/python -m simulation $(if $(SEED),--seed $(SEED),$(if $(BINDS),--binds $(BINDS)) $(if $(PREEMPTIONS),--preemptions $(PREEMPTIONS)) $(if $(EVICTIONS),--evictions $(EVICTIONS)) $(if $(MOVES),--moves $(MOVES)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(FIRST),--first $(FIRST)) $(if $(THEME),--theme $(THEME)))

planted: $(STAMP) ## every bug that is planted to see whether the tests find it (two minutes), and those that the simulation has to find, with what finds each
	@PLANTED_BUGS=all $(BIN)/python -m pytest tests/planted -q
	@PLANTED_BUGS=all $(BIN)/python -m pytest tests/simulation/test_planted.py -s -q

.PHONY: mutants
mutants: $(STAMP) ## mutants of the pure core and of the features' rules, each run against the tests that reach it (hours; goes on where it stopped), or SAMPLE=2 of each module, drawn by the date (some minutes: before each landing, not a gate); ONLY='extender.core.verbs.*', TESTS=tests/verbs,tests/cluster alone, SECONDS_EACH=20 of tests that each meets at most, AGAIN=1 also asks those that survived, SEED
	@nice -n 19 $(BIN)/python -m bench.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)') $(if $(TESTS),--tests '$(TESTS)') $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(if $(AGAIN),--again)

conformance: $(STAMP) ## 25,000 fresh questions to each of five Kubernetes releases, and as many preemptions
	@$(BIN)/python -m pytest tests/e2e/test_upstream_tables.py tests/e2e/test_differential.py tests/e2e/test_preemption_differential.py tests/e2e/test_verdict_differential.py -v --releases all --questions 25000

.PHONY: repair
repair: $(STAMP) ## a zone that is lost and comes back, ten times thirty pods on a real control plane, and an hour of quiet, into bench/results/repair.md
	@$(BIN)/python -m pytest tests/e2e/test_repair.py -v -k "zone_that_is_back and replace" --apps 10 --replicas 30 --record

.PHONY: faults
faults: $(STAMP) ## faults on a real control plane, drawn by SEED, for FAULT_SECONDS (600), added to bench/results/faults.md
	@$(BIN)/python -m tests.e2e.faults --seconds $(or $(FAULT_SECONDS),600) $(if $(SEED),--seed $(SEED)) --report bench/results/faults.md

.PHONY: replicas
replicas: $(STAMP) ## two and three replicas, one of which is killed, frozen, cut off or replaced (20 minutes), added to bench/results/replicas.md
	@$(BIN)/python -m pytest tests/e2e/test_replicas.py -v --record

.PHONY: upgrade
upgrade: $(STAMP) ## two replicas of 0.1, or of FROM=, replaced by those of this revision, and the way back (5 minutes), added to bench/results/upgrade.md
	@$(BIN)/python -m pytest tests/e2e/test_upgrade.py -v --record $(if $(FROM),--older $(FROM))

.PHONY: upstream
upstream: $(STAMP) ## the scheduler's own integration suites, with and without the extender (hours), into tests/upstream/report.md
	@$(BIN)/python -m tests.upstream

.PHONY: worlds
worlds: $(STAMP) ## explain and simulate beside a real scheduler and controllers on drawn clusters (WORLDS=200, 20 minutes), into bench/results/worlds.md
	@$(BIN)/python -m pytest tests/e2e/test_worlds.py -v --record --worlds $(or $(WORLDS),200)

ROUNDS ?= 20
scale-down: $(STAMP) ## which pods a scale-down takes, with the extender and without it (ROUNDS=20, three minutes)
	@$(BIN)/python -m pytest tests/e2e/test_scale_down.py -v --record --rounds $(ROUNDS)

matrix: $(STAMP) ## the core of e2e on each Kubernetes release that is supported (an hour), or on one (RELEASE=1.37.2)
	@$(BIN)/python -m tests.e2e.matrix $(if $(RELEASE),--releases $(RELEASE))

lint: $(STAMP) ## ruff and the layer contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: $(STAMP) ## mypy, strict
	@$(MYPY)

reference: $(STAMP) ## write docs/reference/ from the schema, the parsers, the rules of lint and the metrics, and the schema of the chart
	@$(BIN)/python -m release.reference docs/reference
	@$(BIN)/python -m release.values_schema

format: $(STAMP) ## rewrite the sources in the project's format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(STAMP) ## compare with a server that answers at once, as ratios
	@$(BIN)/python -m bench

bench-intree: $(STAMP) ## compare with the scheduler's own plugin (three quarters of an hour)
	@$(BIN)/python -m bench.intree $(call results,plugin)

.PHONY: bench-upstream
bench-upstream: $(STAMP) ## upstream's own benchmark, scheduler_perf, with and without the extender (hours)
	@$(BIN)/python -m bench.scheduler_perf $(call results,scheduler_perf)

bench-memory: $(STAMP) ## memory over a million pods that are all different (half an hour)
	@$(BIN)/python -m bench.churned_memory $(call results,memory)

.PHONY: soak
soak: $(STAMP) ## the extender with every feature on under 200 pod events and 50 calls a second, over a real API server, for SECONDS (28800), as one more piece of bench/results/soak.md
	@$(BIN)/python -m bench.soak --seconds $(or $(SECONDS),28800) $(call results,soak)

SCENARIOS ?= 100
preemption-compare: $(STAMP) ## random preemptions in `replace` beside the scheduler alone (SCENARIOS=100, FIRST=1, half an hour)
	@$(BIN)/python -m bench.scheduler preemptions --scenarios $(SCENARIOS) --first $(or $(FIRST),1) --markdown bench/results/preemptions.md

performance: bench-intree ## measure all that docs/performance.md shows, and draw it (hours)
	@$(BIN)/python -m bench.churn $(call results,churn)
	@$(BIN)/python -m bench.relabel $(call results,relabel)
	@$(BIN)/python -m bench.node_affinity $(call results,node_affinity)
	@$(BIN)/python -m bench.detection $(call results,detection)
	@$(BIN)/python -m bench.explain $(call results,explain)
	@$(BIN)/python -m bench.page $(call results,page)
	@$(BIN)/python -m bench.overload $(call results,overload)
	@$(BIN)/python -m bench.scale $(call results,scale)
	@$(BIN)/python -m bench.scheduler ready $(call results,ready)
	@$(BIN)/python -m bench.scheduler preemptors $(call results,preemptors)
	@$(BIN)/python -m bench.scheduler hints --markdown bench/results/hints.md
	@$(BIN)/python -m bench.scheduler rates --rounds 5 --only 'No rules' 'zone and host' 'Required apart' $(call results,rates)
	@$(BIN)/python -m bench.figures

results = --markdown bench/results/$(1).md --json bench/results/$(1).json

lock: ## pin the dependencies again (needs uv)
	uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --custom-compile-command 'make lock' pyproject.toml -o requirements.txt
	uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --custom-compile-command 'make lock' --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt
	uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --custom-compile-command 'make lock' --extra release -c requirements-dev.txt pyproject.toml -o requirements-release.txt
	printf 'editables\nhatchling\n' | uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --custom-compile-command 'make lock' -c requirements-dev.txt - -o requirements-build.txt

clean: ## remove what the targets made here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist mutants
