# Everything here needs Go, make and a C compiler only. PostgreSQL's server
# programs are found, or brought, by .build/postgres.sh.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run build test check golden bench soak clean

postgres := bin=$$(sh .build/postgres.sh)
packages := go list ./...
# Where the race detector pays: what runs concurrently.
racy := /eventstore|/projections/|/handlers/|/migrations/localpg
# Limits of one package's tests.
limit := -timeout 15m

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{printf "make %-8s %s\n", $$1, $$2}'

run: build ## Build annals and serve the demo on :8080; ARGS adds flags
	@if [ -z "$$SERVICE_GRAPHQL_DATABASE_URL$$HASURA_GRAPHQL_DATABASE_URL$$SERVICE_GRAPHQL_POSTGRES_BIN" ]; then \
		$(postgres) && export SERVICE_GRAPHQL_POSTGRES_BIN="$$bin"; \
	fi && exec .bin/annals serve --demo $(ARGS)

build: ## Build annals into .bin/
	@mkdir -p .bin && go build -trimpath -o .bin/annals ./cmd/annals

test: ## Run every test, on a PostgreSQL of its own, with the race detector where it pays
	@$(postgres) && export ANNALS_POSTGRES_BIN="$$bin" && \
		go test $(limit) $$($(packages) | grep -Ev '$(racy)') && \
		go test $(limit) -race $$($(packages) | grep -E '$(racy)')

check: ## Check format, vet, staticcheck, and known vulnerabilities where that can be
	@unformatted=$$(gofmt -l cmd domain eventstore handlers migrations projections); \
		if [ -n "$$unformatted" ]; then echo "gofmt these: $$unformatted" >&2; exit 1; fi
	go vet ./...
	go tool -modfile=.tools/go.mod staticcheck ./...
	@if ! command -v govulncheck >/dev/null; then echo "govulncheck is not installed: vulnerabilities were not looked for"; \
		else govulncheck ./...; fi

golden: ## Write the README's tables and the expected results of tests anew
	@$(postgres) && export ANNALS_POSTGRES_BIN="$$bin" && \
		go test -count=1 $$(grep -rlE 'flag\.Bool\("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update

bench: build ## Measure what operations, replay and start cost as the catalog grows, 10,000 subscribers, and deliveries
	@$(postgres) && export ANNALS_POSTGRES_BIN="$$bin" && \
		go test -run '^$$' -bench . ./eventstore/... ./handlers/... && \
		go run ./cmd/bench-operations -annals .bin/annals -postgres-bin "$$bin" && \
		go run ./cmd/bench-subscriptions -annals .bin/annals -postgres-bin "$$bin" -rounds 5 && \
		go run ./cmd/bench-deliveries -annals .bin/annals -postgres-bin "$$bin"

soak: ## Kill nodes for longer: 50 rounds, 2,000 operations; 20,000 row changes; look for leaks under 5,000 sets of permissions, and for wrong answers in 2,000 databases
	@$(postgres) && export ANNALS_POSTGRES_BIN="$$bin" ANNALS_CRASH_ROUNDS=50 ANNALS_CRASH_OPERATIONS=2000 \
		ANNALS_CRASH_CHANGES=20000 ANNALS_CRASH_STRIKES=30 && \
		go test -count=1 -timeout 1h -v -run 'TestKilledNodesLoseNothing|TestEveryDeliveryEnds' ./cmd/annals && \
		ANNALS_LEAK_ROUNDS=5000 ANNALS_NAIVE_WORLDS=2000 ANNALS_JOIN_WORLDS=200 go test -count=1 -timeout 1h -v \
		-run 'TestNoRowOrColumnIsSeenThatThePermissionsKeep|TestAnyOperationAnswers|TestAnyMutationDoes|TestJoinsAnswerAsRowByRowWould' \
		./handlers/execution

clean: ## Remove what was built and brought
	rm -rf .bin .postgres .postgres-partial.*
