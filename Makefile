# Names for what people do. The work is in scripts/, so that it can be run without make as well.

# Builds are kept outside the clone, as scripts/env.sh does.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wakeful/target

.DEFAULT_GOAL := help
.PHONY: help run test build bench fmt

help: ## show this list
	@sed -n 's/^\([a-z]*\): ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: ## build Wakeful and show what it does, with a scripted model and no keys
	@scripts/need cargo cc
	@scripts/demo

test: ## run every check (scripts/check quick for the fast ones)
	@scripts/check

build: ## build the program for use
	@scripts/need cargo cc
	cargo build --release --locked -p wakeful
	@echo "built $(CARGO_TARGET_DIR)/release/wakeful"

bench: ## measure, on both databases
	@scripts/need cargo cc postgres
	@scripts/bench

fmt: ## format all code
	cargo fmt --all
