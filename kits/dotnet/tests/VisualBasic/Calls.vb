Imports Leads

Public Module Calls
    ''' <summary>Posts a lead, and names what came of it.</summary>
    Public Async Function PostAsync(client As LeadsClient, lastName As String) As Task(Of String)
        Dim lead As New Lead With {.FirstName = "Ada", .LastName = lastName, .Phone = "+1 415 555 0100"}
        Try
            Dim ack = Await client.PostLeadAsync(lead, LeadsClient.IdempotencyKey("vb", "4711"))
            Return $"{ack.Status} {ack.EventId}"
        Catch e As InvalidLeadException
            Return String.Join(", ", e.Fields.Keys)
        Catch e As UnavailableException
            Return "later"
        End Try
    End Function
End Module
