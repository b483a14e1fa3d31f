# SPDX-License-Identifier: Apache-2.0
# Every command a person needs. `make` alone lists them; each one installs what it lacks first (scripts/setup).

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-sanitize bench fuzz lint format docs clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

run: ## build Carrel, make a demo library and serve it on http://127.0.0.1:8080
	@scripts/setup run
	@scripts/demo

test: ## build everything and run the tests once (ONLY=CarrelOrdersTests for one target)
	@scripts/setup test
	@scripts/test $(ONLY)

test-long: ## the tests with the long ones: kills by the hundred, soaks, fault matrices
	@scripts/setup test
	@CARREL_LONG=1 scripts/test

test-sanitize: ## the tests under the address sanitizer, then under the thread sanitizer (SHORT=1: C handles only, address)
	@scripts/setup sanitize
	@scripts/test-sanitize

bench: ## measure what claims to be fast against its peer or its limit
	@scripts/setup bench
	@scripts/bench

fuzz: ## feed mutated bytes to every parser (FUZZ_SECONDS=30 each, ONLY=name for one)
	@scripts/setup fuzz
	@scripts/fuzz

lint: ## check layout and house rules
	@scripts/setup lint
	@scripts/lint

format: ## lay out the Swift files as the house does
	@scripts/setup lint
	@scripts/format

docs: ## write the reference documentation to .build/docs
	@scripts/setup docs
	@scripts/docs

clean: ## remove everything that was built, the demo's home too
	rm -rf .build
