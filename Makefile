# The toolchain that the suite is built with; an older go command fetches it by itself.
export GOTOOLCHAIN := go1.27.3
export CGO_ENABLED := 0

GO      ?= go
PREFIX  ?= $(HOME)/.local
FUZZTIME ?= 20s
TRANSPORT ?= unix

.DEFAULT_GOAL := help
.PHONY: help build install demo test test-net check model race fuzz bench golden clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build every program into bin/
	$(GO) build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

install: build ## copy the programs to PREFIX/bin (default ~/.local/bin)
	mkdir -p "$(PREFIX)/bin"
	for p in cmd/*; do install -m 755 "bin/$$(basename $$p)" "$(PREFIX)/bin/"; done

demo: build ## watch two agents finish a task, in under a minute; TRANSPORT=tailcat: through a relay and a tunnel
	$(GO) run ./demo -transport $(TRANSPORT) bin

test: ## run every test
	$(GO) test -timeout 15m ./...

test-net: ## run the tests that need a network namespace (Linux); AWP_SKIP_NET=1 skips them
	AWP_TEST_NET=1 $(GO) test -timeout 15m -count 1 -v ./internal/nettest

check: bin/staticcheck ## format, vet, staticcheck, and the tests again under the race detector
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	bin/staticcheck ./...
	@$(MAKE) --no-print-directory model race

model: ## check every run of the model of the exchange, doc/model, with spin
	@doc/model/check.sh

race: ## the race detector, where a C compiler is present; else the import law again
	@if command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
		echo "go test -race"; CGO_ENABLED=1 $(GO) test -race -short -timeout 20m ./...; \
	else \
		echo "no C compiler, so no race detector"; $(GO) test ./internal/archtest; \
	fi

bin/staticcheck: tools/go.mod
	cd tools && $(GO) build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

fuzz: ## run every fuzz target for FUZZTIME (default 20s)
	@for f in $$(grep -rl '^func Fuzz' --include='*_test.go' .); do \
		for t in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' $$f); do \
			echo "$$(dirname $$f) $$t"; $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) $$(dirname $$f) || exit 1; \
		done; \
	done

bench: build ## print speed as ratios against floors measured in the same run
	$(GO) run ./bench --bin bin

golden: ## rewrite generated files: golden conversations, doc/ipc.md
	$(GO) generate ./ipc
	$(GO) test ./ipc ./internal/awpcmd ./internal/render -update

clean: ## remove what was built
	rm -rf bin dist
