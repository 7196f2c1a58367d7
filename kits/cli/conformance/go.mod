// A module of its own, so that the published one has neither driver nor bench.
module leads.example/leads-cli/conformance

go 1.24

require (
	leads.example/leads-cli v0.1.0
	leads.example/leads-go v0.1.0
)
