module leads.example/leads-go

go 1.24
