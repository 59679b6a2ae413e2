# Every job of this project is a target here. `make help` lists them.
GO        ?= go
CLANG     ?= clang-19
# go-nvml declares functions that NVML has deprecated; cgo would print pages.
export CGO_ENABLED = 1
export CGO_CFLAGS  = -g -O2 -Wno-deprecated-declarations
# go-nvml binds NVML lazily: where gcc defaults to -z now, the binary would not
# start on a machine without it. Go refuses this flag in a source file.
export CGO_LDFLAGS = -Wl,-z,lazy
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS   = -X github.com/peerproof/peerproof/runner/cli.Version=$(VERSION)
# A machine without a real GPU runs the main job on this simulated node.
SIMULATED ?= hgx-h200-8
OUT       ?= peerproof-conformance-$(shell date +%Y%m%d-%H%M%S)

.PHONY: help build test conformance generate docs man lint bench soak-healthy fuzz clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/peerproof ## build bin/peerproof

.PHONY: bin/peerproof
bin/peerproof:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/peerproof

# Tests of size, which the race detector makes ten times slower: they skip under it.
SIZES = Rack|ManyLongTexts|Size|FalseAlarms|Planted

test: ## everything that needs no GPU, race detector on
	$(GO) vet ./...
	$(GO) test -race -timeout 30m ./...
	$(GO) test -timeout 30m -run '^Test($(SIZES))' ./report/...

conformance: bin/peerproof ## the main job: a real GPU where there is one, else a simulated node
	@if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then \
		echo "make conformance: testing the real GPUs of this machine"; \
		case $$(ls -d /dev/nvidia[0-9]* 2>/dev/null | wc -l) in 1) loop=--loopback;; esac; \
		bin/peerproof run $$loop --out $(OUT); \
	else \
		echo "make conformance: this machine has no NVIDIA GPU; testing the SIMULATED node $(SIMULATED)"; \
		bin/peerproof run --node $(SIMULATED) --profile $(SIMULATED) --out $(OUT); \
	fi

generate: ## rebuild the kernels' PTX (needs clang-19)
	CLANG=$(CLANG) $(GO) generate ./cuda/kernels

docs: ## write docs/codes.md again from fixtures/codes
	$(GO) generate ./fixtures/codes

# Pages have the date of the source, so that the same source makes the same package.
man: ## manual pages into bin/man, completions for bash, zsh and fish into bin/completions
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} $(GO) run ./runner/cli/man bin '$(VERSION)'

# Its cache keeps the paths of the checkout that filled it, so each has its own.
lint: ## golangci-lint, with the rules of .golangci.yml
	GOLANGCI_LINT_CACHE='$(CURDIR)/bin/lint' golangci-lint run

bench: ## Go benchmarks, and the plan of 72 GPUs
	$(GO) test -run '^$$' -bench . -benchmem ./...

soak-healthy: bin/peerproof ## the healthy simulated node 20 times: 20 times green
	@for i in $$(seq 20); do \
		rm -rf bin/soak; \
		bin/peerproof run -q --node hgx-h200-8 --profile hgx-h200-8 --out bin/soak >bin/soak.log 2>&1 || { cat bin/soak.log; echo "run $$i of 20 failed"; exit 1; }; \
		echo "run $$i of 20 green"; \
	done

FUZZTIME ?= 20s
fuzz: ## every fuzz target, FUZZTIME each
	@grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read f; do \
		for t in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$f); do \
			echo "$$t in $$(dirname $$f)"; $(GO) test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$(dirname $$f) || exit 1; \
		done; \
	done

.PHONY: verify-slurm verify-k8s
verify-slurm: bin/peerproof ## ci/slurm on a real Slurm with simulated nodes: needs root and apt
	ci/slurm/verify.sh bin/peerproof

.PHONY: verify-fleet
verify-fleet: bin/peerproof ## peerproof fleet over 1,000 servers: what it finds, and what it costs
	report/fleet/testdata/verify

verify-k8s: bin/peerproof ## ci/kubernetes: manifests by the API server's own rules, the containers' commands here; needs the Go proxy
	cd ci/kubernetes/verify && env -u CGO_CFLAGS -u CGO_LDFLAGS PEERPROOF=$(CURDIR)/bin/peerproof $(GO) test -count=1 ./...

# Everything below is checked by hand or in CI, not by `make test`: each says
# what it needs and, as root, installs it from Debian's packages.
.PHONY: release verify-release verify-deb verify-gitlab verify-jenkins verify-github verify-container verify-systemd

release: ## dist/: tarball, .deb, SBOM, SHA256SUMS; ARCHES="amd64 arm64" for both
	@ci/release/build.sh

verify-release: ## a release twice, elsewhere: the same bytes; starts on Debian 11; arm64 too
	@ci/verify/release.sh

verify-deb: ## lintian, and the .deb installed and run in a clean Debian 12
	@ci/verify/deb.sh

verify-gitlab: bin/peerproof ## ci/gitlab in gitlab-ci-local: green, red, late
	@ci/verify/gitlab.sh

verify-jenkins: bin/peerproof ## ci/jenkins/Jenkinsfile, its steps run by a stand-in
	@ci/verify/jenkins.sh

verify-github: bin/peerproof ## ci/github with actionlint, its step run
	@ci/verify/github.sh

verify-container: bin/peerproof ## ci/container built by buildah on a Debian made here
	@ci/verify/container.sh

verify-systemd: bin/peerproof ## ci/systemd with systemd-analyze
	@ci/verify/systemd.sh

.PHONY: build-verify verify-real bin/compare
build-verify: bin/compare ## build bin/compare, which verify-real needs: carry it with bin/peerproof to a server without Go

bin/compare:
	$(GO) build -trimpath -o $@ ./ci/verify/compare

VERIFY_OUT ?= peerproof-verify-real-$(shell date +%Y%m%d-%H%M%S)
verify-real: bin/peerproof bin/compare ## a server with real GPUs, beside nvbandwidth and others: see docs/real-peers.md; without a GPU a dry run
	@if [ -n "$$NODE" ] || ls /dev/nvidia[0-9]* >/dev/null 2>&1; then ci/verify/real.sh $(VERIFY_OUT); \
	else NODE=h100-nvl-4 ci/verify/real.sh $(VERIFY_OUT); fi

clean: ## remove what was built
	rm -rf bin dist
