# The commands of the project. `make` alone lists them.
#
# Everything that needs a Docker engine runs in the lab (tests/lab), which makes one on a bare Debian machine;
# WHEELBASE_DOCKER=host uses the Docker that is there instead.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

AREA ?= main
export INSTA_UPDATE ?= no
TARGET := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
BINARY := $(or $(CARGO_TARGET_DIR),target)/$(TARGET)/release/wheelbase

.PHONY: help
help: ## Lists the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

.PHONY: demo
demo: ## Builds examples/quickstart on a real BuildKit and shows what two edits cost
	tests/demo/demo

.PHONY: test
test: ## Unit, snapshot, property and engine tests
	tests/run

.PHONY: acceptance
acceptance: ## Measures every claim of AREA (main, lock, wheels or buildx; default: main) from outside
	tests/run acceptance $(AREA)

.PHONY: lint
lint: ## Formatting and clippy
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings

.PHONY: binary
binary: $(BINARY) ## The static release binary

$(BINARY): $(shell find src -type f 2>/dev/null) Cargo.toml Cargo.lock
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --bin wheelbase --target $(TARGET)

.PHONY: frontend
frontend: ## The frontend image, built by Dockerfile.frontend in the lab
	tests/lab/lab up
	tests/lab/frontend --from-source

.PHONY: engines
engines: ## Starts all engines of the lab
	tests/lab/lab up all

.PHONY: bench
bench: ## Ratios: plan time against lock size, locks against uv, frontend against the Dockerfile frontend
	tests/run bench

.PHONY: bench-torch
bench-torch: ## A real torch image beside its Dockerfile (fetches about 4 GB)
	tests/run bench-torch

.PHONY: fuzz
fuzz: ## Fuzzes everything that is parsed; needs a nightly toolchain or RUSTC_BOOTSTRAP
	fuzz/run

.PHONY: docs
docs: ## Writes the generated reference pages
	UPDATE_DOCS=1 cargo test --locked --lib spec::
