# Short names for common tasks. The scripts in scripts/ also work without make.

# Build output is outside the clone, as in scripts/env.sh.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/wakeful/target

.DEFAULT_GOAL := help
.PHONY: help run stop test build install uninstall package bench torture fmt

help: ## show this list
	@sed -n 's/^\([a-z]*\): ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: ## build Wakeful, start it with a demo agent and no keys, and open its page
	@scripts/need cargo cc
	@scripts/demo

stop: ## stop the daemon that `make run` started
	@WAKEFUL_HOME="$(dir $(CARGO_TARGET_DIR))demo/home" "$(CARGO_TARGET_DIR)/debug/wakeful" daemon stop

test: ## run every check (scripts/check quick for the fast ones)
	@scripts/check

build: ## build the program for use
	@scripts/need cargo cc
	@scripts/web
	cargo build --release --locked -p wakeful
	@echo "built $(CARGO_TARGET_DIR)/release/wakeful"

install: ## build the program with its page and install it (PREFIX=~/.local, default /usr/local)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/package install

uninstall: ## remove what `make install` has installed (same PREFIX)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/package uninstall

package: ## build a tarball and a Debian package (OUT=DIR)
	@OUT="$(OUT)" scripts/package

bench: ## run the benchmarks on both databases
	@scripts/need cargo cc postgres
	@scripts/bench

torture: ## kill the program under load and check the result (MINUTES=5 SEED=1 DATABASE=postgres)
	@DATABASE="$(or $(DATABASE),sqlite)" scripts/torture --minutes "$(or $(MINUTES),5)" $(if $(SEED),--seed $(SEED))

fmt: ## format all code
	cargo fmt --all
