# Everything a developer types. `make demo` and `make test` install what they need; nothing else has to be set up.
STORE         ?= memory
ENVOY_VERSION ?= 1.40.0
FUZZTIME      ?= 20s
BENCH         ?=
PARTS         ?= cc redis envoy
VERSION       := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TOOL          := go tool -modfile=test/tools/go.mod
# Packages where goroutines meet run under the race detector, the others without, since counting and compressing suffer tenfold from it.
PACKAGES       = go list ./... | grep -v /test/e2e
RACY          := /(cmd|extproc|store|test/fakellm)(/|$$)|/pipeline(/expand(/hidden|/loop|/upstream)?|/generation|/rewrite)?$$
export ENVOY_VERSION

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build run demo test unit race e2e clients deps fuzz bench lint fmt generate check tools clean

help: ## Show this list
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## Build bin/context-guru
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/context-guru ./cmd/context-guru

run: build ## Run the service with its defaults (ARGS="-config file.yaml" for your own)
	bin/context-guru serve $(ARGS)

demo: PARTS = redis envoy
demo: deps ## Send a real agent conversation through Envoy (STORE=memory or redis)
	go run ./test/demo -store $(STORE)

test: race unit e2e ## Everything: unit, property and store tests, the race detector, end to end

unit: deps ## Tests of the packages that share nothing between goroutines
	go test $$($(PACKAGES) | grep -vE '$(RACY)')
	go test -run Allocations ./pipeline ./pipeline/rewrite # which the race detector falsifies

race: deps ## Tests of the packages where goroutines meet, under the race detector
	go test -race $$($(PACKAGES) | grep -E '$(RACY)')

e2e: deps ## End-to-end tests on the real Envoy and Redis (ENVOY_VERSION=1.39.3 for another Envoy)
	go test -count=1 -timeout=20m ./test/e2e/...

clients: PARTS = redis envoy
clients: deps ## The official Python SDKs through Envoy and the loop (needs pip and a package index)
	@if python3 -m venv .cache/clients && .cache/clients/bin/pip install -q -r test/clients/requirements.txt; then \
		go run ./test/clients -python .cache/clients/bin/python; \
	else echo "clients: skipped, the SDKs cannot be installed here"; fi

# What cannot be installed lets its tests skip with a word, unless REQUIRE_E2E=1 asks for all of them.
deps: ## Install Envoy, redis-server and a C compiler where they are missing
	@for part in $(PARTS); do test/tools/install.sh $$part >/dev/null || [ "$$REQUIRE_E2E" != 1 ] || exit 1; done

fuzz: ## Fuzz every target for FUZZTIME each (20s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd extproc pipeline components store test | \
	while IFS=: read -r file target; do \
		go test -run='^$$' -fuzz="^$${target#func }$$" -fuzztime=$(FUZZTIME) "./$${file%/*}" || exit 1; \
	done

bench: deps ## Time and CPU per request through Envoy, as ratios to an ext_proc server that does nothing (BENCH="flags")
	go run ./test/bench $(BENCH)

lint: ## Check style, imports and formatting
	$(TOOL) golangci-lint run ./...

fmt: ## Format the Go files
	$(TOOL) golangci-lint fmt ./...

generate: ## Write the generated files anew
	go generate ./...

check: fmt generate lint test ## What a change must pass: nothing left to format or generate, lint, tests
	go mod tidy -diff
	git diff --exit-code

tools: ## Build the pinned tools once, so that later calls are quick
	$(TOOL) golangci-lint version
	go build -modfile=test/tools/go.mod -o /dev/null golang.org/x/perf/cmd/benchstat

clean: ## Remove what was built; the installed Envoy stays
	rm -rf bin
