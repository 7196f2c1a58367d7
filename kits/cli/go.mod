module leads.example/leads-cli

go 1.24

require leads.example/leads-go v0.1.0

// Both are built from one repository; a released leads-cli names a released leads-go.
replace leads.example/leads-go => ../go
