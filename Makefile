# Every target installs what it needs and is missing (tools/install-deps), says which step is
# running and how long it took, and stops at the first failure.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
LINT_SECONDS ?= inf
SOAK_MINUTES ?= 30
soak_args := --rolter build/release/rolter --report docs/operations/soak.md
# llvm-symbolizer of our compiler's version, so that sanitizer reports name lines.
export PATH := /usr/lib/llvm-19/bin:$(PATH)
step := @tools/step
ctest := ctest -j $(JOBS) --output-on-failure --no-tests=error

# $(call built,preset[,targets]): configures and builds one of CMakePresets.json.
define built
	$(step) "configure $(1)" cmake --preset $(1) --log-level=NOTICE
	$(step) "build $(1)" cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))
endef

.PHONY: help build package test-browser pictures page-cost test-clients demo test check check-fast lint asan tsan fuzz fuzz-smoke \
  bench bench-smoke soak soak-short format clean

help:
	@echo 'make build   build/release/rolter, the optimised binary'
	@echo 'make package a Debian package of it, under build/release/packages, tested'
	@echo 'make demo    simulated replicas, the gateway and traffic; a table per strategy at the end'
	@echo 'make test    development build and all tests'
	@echo 'make test-browser   the live page in Chromium, dashboard and alerts in Prometheus, manifests linted'
	@echo 'make pictures   the pictures of the live page in docs/images, anew'
	@echo 'make page-cost   what the live page weighs, and what an open one costs the gateway'
	@echo 'make test-clients   LiteLLM, LangChain, openai-node and AIPerf against the gateway'
	@echo 'make check   format, rules, budgets, bench smoke, more clients, a soak of 3 minutes, sanitizers, short fuzzing'
	@echo 'make lint    clang-tidy over all sources; LINT_SECONDS bounds it, the newest changes go first'
	@echo 'make bench   side by side with nginx and haproxy; tables here, JSON under build/bench'
	@echo 'make fuzz    each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make soak    the long tests that `make test` leaves out: 40 minutes; writes docs/operations/soak.md'
	@echo 'make format  clang-format over all sources'
	@echo 'make clean   removes build/'

build:
	$(step) 'install what is missing' tools/install-deps build
	$(call built,release,rolter)
	@echo 'built: build/release/rolter'

test-browser:
	$(step) 'install what is missing' tools/install-deps build test browser monitor
	$(step) 'install the linters' tools/client-env deploy
	$(call built,dev,rolter)
	$(step) 'page and monitoring' $(ctest) --test-dir build/dev -L 'browser|deploy'

pictures:
	$(step) 'install what is missing' tools/install-deps build test browser
	$(call built,dev,rolter)
	$(step) 'the live page after a minute of traffic' tests/browser/pictures.py \
	  --rolter build/dev/src/rolter/cli/rolter

page-cost:
	$(step) 'install what is missing' tools/install-deps build test browser bench
	$(call built,release,rolter)
	$(call built,bench,benches)
	$(step) 'the live page' bench/page_cost --rolter build/release/rolter --build build/bench

test-clients:
	$(step) 'install what is missing' tools/install-deps build test clients
	$(step) 'install the clients' tools/client-env peers
	$(call built,dev,rolter)
	$(step) 'clients' tests/clients/run --peers build/dev/src/rolter/cli/rolter

package: build
	$(step) 'install what is missing' tools/install-deps package
	@rm -rf build/release/packages
	$(step) 'package' cmake --build build/release --target package
	$(step) 'install, start, upgrade, purge' bash -c \
	  'python3 -B tests/deploy/package_test.py --package build/release/packages/*.deb || [[ $$? == 77 ]]'
	@ls build/release/packages/*.deb

demo: build
	$(step) 'demo' build/release/rolter demo $(DEMO_ARGS)

test:
	$(step) 'install what is missing' tools/install-deps build test
	$(step) 'install the client libraries' tools/client-env
	$(step) 'install the linters' tools/client-env deploy
	$(call built,dev)
	$(step) 'all tests' $(ctest) --test-dir build/dev -LE 'soak|bench'

check: check-fast bench-smoke test-clients soak-short tsan asan fuzz-smoke

check-fast:
	$(step) 'install what is missing' tools/install-deps build test check
	$(step) 'format, rules, budgets' tools/check-fast

# The whole of src/ takes longer than CI has; clean results are kept.
lint:
	$(step) 'install what is missing' tools/install-deps build test check
	$(step) 'configure lint' cmake --preset lint --log-level=NOTICE
	$(step) 'lint' tools/lint build/lint --budget $(LINT_SECONDS)

asan:
	$(step) 'install what is missing' tools/install-deps build test check
	$(call built,asan,sanitized_tests)
	$(step) 'asan: unit, integration and scenario tests' $(ctest) --test-dir build/asan -L 'unit|integration|scenario'

tsan:
	$(step) 'install what is missing' tools/install-deps build test check
	$(call built,tsan,sanitized_tests)
	$(step) 'tsan: tests with threads' $(ctest) --test-dir build/tsan -L threads

# The same inputs each time as long as the code is: what is new is for `make fuzz` to find.
fuzz-smoke:
	@FUZZ_SEED=1 $(MAKE) fuzz FUZZ_SECONDS=5

fuzz:
	$(step) 'install what is missing' tools/install-deps build test check
	$(call built,asan,fuzz_targets)
	$(step) 'fuzz: corpus, then $(FUZZ_SECONDS) s each' tools/fuzz build/asan $(FUZZ_SECONDS)

bench-smoke:
	$(step) 'install what is missing' tools/install-deps build test bench
	$(call built,dev,rolter benches)
	$(step) 'bench smoke' $(ctest) --test-dir build/dev -L bench

bench:
	$(step) 'install what is missing' tools/install-deps build test bench
	$(call built,release,rolter)
	$(call built,bench,benches)
	$(step) 'micro benchmarks' bench/micro build/bench
	$(step) 'side by side' bench/side_by_side --rolter build/release/rolter --build build/bench

soak:
	$(step) 'install what is missing' tools/install-deps build test
	$(call built,release,rolter)
	$(call built,dev,rolter clock_jump)
	$(step) 'kill one of four' tests/soak/kill_one.py $(soak_args)
	$(step) '500 reloads' tests/soak/reload_storm.py $(soak_args)
	$(step) 'slow clients' tests/soak/slow_clients.py $(soak_args)
	$(step) 'clients that vanish' tests/soak/vanished_client.py $(soak_args)
	$(step) '10,000 aborts' tests/soak/abort_storm.py --rolter build/release/rolter
	$(step) 'mixed traffic, $(SOAK_MINUTES) minutes' tests/soak/mixed_soak.py \
	  --clock build/dev/tests/soak/libclock_jump.so --minutes $(SOAK_MINUTES) $(soak_args)

soak-short:
	$(step) 'install what is missing' tools/install-deps build test
	$(call built,dev,rolter clock_jump)
	$(step) 'mixed traffic, 3 minutes' $(ctest) --test-dir build/dev -L soak_short

format:
	$(step) 'install what is missing' tools/install-deps check
	$(step) 'format' tools/format

clean:
	rm -rf build
