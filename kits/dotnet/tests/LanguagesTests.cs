namespace Leads.Tests;

/// <summary>The kit's users write F# and Visual Basic, too.</summary>
public class LanguagesTests
{
    [Fact]
    public Task FSharp_posts_a_lead_and_reads_what_is_wrong_with_one() => PostAndReadAsync(FSharpCalls.post);

    [Fact]
    public Task Visual_Basic_posts_a_lead_and_reads_what_is_wrong_with_one() =>
        PostAndReadAsync(VisualBasicCalls.Calls.PostAsync);

    private static async Task PostAndReadAsync(Func<LeadsClient, string, Task<string>> post)
    {
        using var server = new IntakeServer(request => request.Body.Contains("Lovelace", StringComparison.Ordinal)
            ? IntakeServer.Accepted()
            : IntakeServer.Json(422, """{"error":"validation_failed","fields":{"last_name":"required"}}"""));
        using var client = server.NewClient();

        Assert.Equal("Accepted event-1", await post(client, "Lovelace"));
        Assert.Equal("last_name", await post(client, ""));
    }
}
