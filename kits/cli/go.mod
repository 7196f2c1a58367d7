module leads.example/leads-cli

go 1.24

require leads.example/leads-go v0.1.0
