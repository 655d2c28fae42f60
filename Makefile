# rooflab: `make lab` sets up what is missing and opens JupyterLab, `make test`
# runs all tests; `make help` lists the rest.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Go's SIMD packages: GoMLX's Go backend is several times faster with them.
# Cells are built with whatever the binary was built with.
export GOEXPERIMENT := simd

GO ?= go
# Flags for `rooflab lab`, and for JupyterLab after --: make lab LAB="--port 9000 -- --debug"
LAB ?=
VENV := .venv

.PHONY: help build lab test bench fuzz fmt lint clean tools

help:
	@echo "make lab    build, set up JupyterLab and the kernel, and open them on notebooks/"
	@echo "make test   all tests"
	@echo "make build  bin/rooflab only"
	@echo "make bench  measure against named peers"
	@echo "make fuzz   every fuzz target for FUZZTIME (60s): what CI runs at night"
	@echo "make fmt    gofmt"
	@echo "make lint   golangci-lint (pinned in .ci/tools), go vet's checks included"
	@echo "make clean  remove what these targets made in this folder"

# -s -w: cells are linked that way too, and the loader wants them alike.
build: tools
	@[ -e bin/rooflab ] || echo "make: the first build compiles everything once, which takes some minutes"
	$(GO) build -ldflags="-s -w" -o bin/rooflab ./cmd/rooflab
	bin/rooflab prepare

lab: build
	bin/rooflab lab notebooks $(LAB)

# The tests train on XLA, too, with a plugin of their own.
test: export PJRT_PLUGIN_LIBRARY_PATH := $(CURDIR)/$(VENV)/pjrt
test: build $(VENV)/.ready $(VENV)/pjrt/.ready
	$(GO) vet ./...
	$(GO) test -timeout 20m ./...

bench: build
	bin/rooflab bench kernel
	bin/rooflab bench import

# Each target by itself, as `go test -fuzz` wants it. What one finds stays in its
# testdata/fuzz and runs with the tests from then on: commit it with the mending.
FUZZTIME ?= 60s
FUZZ ?= ./...
fuzz:
	@failed=0; for pkg in $$($(GO) list $(FUZZ)); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "== $$pkg $$f"; \
	    $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg || failed=1; \
	  done; \
	done; exit $$failed

fmt:
	gofmt -l -w agents cmd collectors datasets internal kernel modeling notebooks

lint: bin/golangci-lint
	bin/golangci-lint run ./...

clean:
	rm -rf bin $(VENV)

# The linter is a module of its own, so that its dependencies stay out of ours.
# GOEXPERIMENT is not for it: it would only build the standard library again.
bin/golangci-lint: .ci/tools/go.mod .ci/tools/go.sum
	GOEXPERIMENT= $(GO) build -C .ci/tools -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# What the tests that drive Jupyter need, at the versions that `rooflab lab` installs too.
$(VENV)/.ready: internal/lab/constraints.txt .ci/requirements-test.txt
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: the tests need python3 with venv, to run Jupyter in $(VENV)."; \
	  echo "make: on Debian or Ubuntu: sudo apt-get install python3 python3-venv"; exit 1; }
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c internal/lab/constraints.txt -r .ci/requirements-test.txt
	touch $@

$(VENV)/pjrt/.ready: modeling/backend/pjrt/pins.go | $(VENV)/.ready build
	bin/rooflab xla install --dir $(VENV)/pjrt
	touch $@

# Without these nothing builds; `bin/rooflab doctor` looks at the rest.
tools:
	@command -v $(GO) >/dev/null || { \
	  echo "make: no go command found. rooflab needs Go 1.26 or later, from your package manager or https://go.dev/dl/"; exit 1; }
	@command -v $$($(GO) env CC) >/dev/null || { \
	  echo "make: no C compiler found ($$($(GO) env CC)); cells are plugins, which need one."; \
	  echo "make: on Debian or Ubuntu: sudo apt-get install gcc"; exit 1; }
