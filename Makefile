# Faultline. `make` alone prints the targets.
SHELL := /bin/bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# -s -w leaves out what only a debugger reads, a third of the program.
LDFLAGS := -s -w -X github.com/faultline/faultline/cmd/simulate/app.version=$(VERSION)
# Compiler and linker take a quarter less time when they collect garbage later, for half as much memory again.
GO := GOGC=400 go

.DEFAULT_GOAL := help
.PHONY: help build cluster deciders engine site testsite demo test tools scripts lint generate bench release clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/simulate
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/simulate ./cmd/simulate

# The version that clients are told is that of the Kubernetes modules in the program.
DECIDERS := $(filter-out deciders/kit deciders/karpenter deciders/kueue,$(wildcard deciders/*))
CLUSTER_LDFLAGS := $(LDFLAGS) -X k8s.io/component-base/version.gitVersion=v1.37.1 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37

# The first time, an API server's thousand packages are compiled, which takes minutes.
cluster: build ## build bin/simulate-cluster, which simulate cluster starts: a cluster in memory that kubectl talks to
	$(GO) build -C cluster -ldflags '$(CLUSTER_LDFLAGS)' -o ../bin/simulate-cluster .

# The first time, a thousand packages are compiled for WebAssembly, which takes minutes.
engine: ## build the engine of the playground's site in bin/engine: scheduler and all, as WebAssembly
	$(GO) run ./cmd/engine/build -o bin/engine -ldflags '-s -w -X main.version=$(VERSION)'

site: build engine ## write the playground as files for any web host into public, with the program and the engine that it needs
	bin/simulate site --output public --engine bin/engine

testsite: tools build engine ## look at the page without a server in a browser, and compare its engine with bin/simulate on every scenario
	$(GO) test -vet=$(VET) -tags site -run TestSite -timeout 30m ./pkg/web
	node --test cmd/engine/engine.test.mjs

# Karpenter and Kueue are built from copies of their modules that take no order from Go's maps, which deciders/*/ordered write.
deciders: build ## build bin/faultline-descheduler and the other programs that decide beside the scheduler, see docs/deciders.md
	@for name in karpenter kueue; do echo "$(GO) build -C deciders/$$name -tags ordered -o ../../bin/faultline-$$name ."; $(GO) run -C deciders/$$name ./ordered && $(GO) build -C deciders/$$name -tags ordered -modfile .ordered/go.mod -o ../../bin/faultline-$$name . || exit 1; done
	@for module in $(DECIDERS); do echo "$(GO) build -C $$module -o ../../bin/faultline-$$(basename $$module) ."; $(GO) build -C $$module -o ../../bin/faultline-$$(basename $$module) . || exit 1; done

demo: build ## build, then run the kind walkthrough
	bin/simulate run scenarios/kind-walkthrough

# The tests of a package take a minute or two, and on a busy machine more than the ten minutes that go test allows.
# go test vets in any case, and go vet would load and look at every package, and at what it imports, once more. VET=off leaves that to make lint.
VET ?= all
test: tools ## format, vet, tests, the demo, and the gate on the project's own scenarios
	@unformatted="$$(gofmt -l cluster cmd deciders examples pkg)"; if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(GO) test -vet=$(VET) -timeout 30m ./...
	$(GO) test -C .ci/ship -timeout 30m ./...
	$(MAKE) --no-print-directory demo > /dev/null
	bin/simulate test scenarios

tools: ## install Chromium, jq, pre-commit, rpm and ruby, which the tests run, where they are missing
	@.ci/tools

scripts: ## types, format and tests of the pages' scripts (needs npm)
	npm --prefix pkg/web ci --ignore-scripts --no-audit --no-fund
	npm --prefix pkg/web run check
	npm --prefix pkg/web test

lint: ## run golangci-lint, which is built the first time
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --timeout 30m
	cd cluster && $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --timeout 30m -c ../.golangci.yml
	for module in deciders/*/; do (cd $$module && $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --timeout 30m -c ../../.golangci.yml) || exit 1; done

generate: ## bundle the pages' scripts (needs npm), and write the generated files under docs/ and the golden files anew
	npm --prefix pkg/web ci --ignore-scripts --no-audit --no-fund
	npm --prefix pkg/web run build
	$(GO) test -timeout 30m $$(grep -rlE 'flag.Bool\("update"|internal/(golden|reporttest)"$$' --include='*_test.go' pkg cmd | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

bench: ## run the benchmarks
	go test -run '^$$' -bench . -benchmem ./pkg/...

# The bill of materials needs syft, which not every machine has.
release: ## build what a release has in dist/: archives, packages, checksums, images, a krew manifest, a Homebrew formula; publishes nothing
	$(GO) run github.com/goreleaser/goreleaser/v2@v2.16.0 release --snapshot --clean $(if $(shell command -v syft),,--skip=sbom)
	$(GO) run -C .ci/ship ./formula "$(CURDIR)/dist/checksums.txt" "$(CURDIR)/dist/faultline.rb"

clean: ## remove what was built
	rm -rf bin dist public
