module FSharpCalls

open System.Threading.Tasks
open Leads

/// Posts a lead, and names what came of it.
let post (client: LeadsClient) (lastName: string) : Task<string> =
    task {
        let lead = Lead(FirstName = "Ada", LastName = lastName, Phone = "+1 415 555 0100")

        try
            let! ack = client.PostLeadAsync(lead, LeadsClient.IdempotencyKey("fsharp", "4711"))
            return $"{ack.Status} {ack.EventId}"
        with
        | :? InvalidLeadException as e -> return String.concat ", " e.Fields.Keys
        | :? UnavailableException -> return "later"
    }
