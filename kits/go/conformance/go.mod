// A module of its own, so that the published one has neither driver nor bench.
module leads.example/leads-go/conformance

go 1.24

require leads.example/leads-go v0.1.0
