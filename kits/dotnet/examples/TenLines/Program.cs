using Leads;

// Key and address come from LEADS_API_KEY and LEADS_BASE_URL.
using var client = new LeadsClient();
var lead = new Lead
{
    FirstName = "Ada",
    LastName = "Lovelace",
    Phone = "+1 415 555 0100",
};
try
{
    var ack = await client.PostLeadAsync(lead, "acme:4711");
    Console.WriteLine($"{ack.Status}: {ack.EventId}");
}
catch (InvalidLeadException e)
{
    var fields = string.Join(", ", e.Fields.Keys);
    Console.Error.WriteLine($"Correct it, same key: {fields}");
}
catch (UnavailableException e)
{
    Console.Error.WriteLine($"Post it later, same key: {e.Message}");
}
// Any other LeadsException needs a person's attention.
