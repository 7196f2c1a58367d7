using System.Text.Json;
using System.Text.Json.Nodes;

namespace Leads.Tests;

public class LeadTests
{
    private static readonly Lead Ada = new() { FirstName = "Ada", LastName = "Lovelace", Phone = "+1 415 555 0100" };

    [Fact]
    public async Task A_lead_is_sent_as_given_with_its_numbers_digit_for_digit()
    {
        var lead = Ada with
        {
            Cost = 12.50m,
            Extra = new JsonObject
            {
                ["campaign"] = new JsonObject { ["name"] = "spring", ["wave"] = 2 },
                ["crm_id"] = JsonNode.Parse("12345678901234567890"),
                ["note"] = null,
            },
        };

        Assert.Equal(
            """
            {"first_name":"Ada","last_name":"Lovelace","phone":"+1 415 555 0100","cost":12.50,"campaign":{"name":"spring","wave":2},"crm_id":12345678901234567890,"note":null}
            """,
            await SentAsync(lead));
    }

    [Fact]
    public async Task Text_is_sent_as_UTF_8_and_half_a_character_costs_no_lead()
    {
        Assert.Contains("\"last_name\":\"Zoë 王 <&'>\"", await SentAsync(Ada with { LastName = "Zoë 王 <&'>" }));
        Assert.Contains("\"last_name\":\"cut \\uFFFD\"", await SentAsync(Ada with { LastName = "cut \ud83c" }));
    }

    [Fact]
    public void A_lead_survives_JSON_and_what_no_property_holds_stays_in_Extra()
    {
        const string json =
            """{"first_name":"Ada","zip":null,"email":5,"cost":0.30000000000000004,"wave":1.10,"__proto__":{"x":[true]}}""";

        var lead = JsonSerializer.Deserialize<Lead>(json)!;

        Assert.Equal("Ada", lead.FirstName);
        Assert.Equal(0.30000000000000004m, lead.Cost);
        Assert.Equal(["zip", "email", "wave", "__proto__"], lead.Extra!.Select(member => member.Key));
        Assert.True(JsonNode.DeepEquals(JsonNode.Parse(json), JsonSerializer.SerializeToNode(lead)));
        Assert.Null(JsonSerializer.Deserialize<Lead>("""{"first_name":"Ada"}""")!.Extra);
    }

    [Theory]
    [InlineData("[]")]
    [InlineData("\"canary\"")]
    [InlineData("""{"first_name":"canary","first_name":"canary"}""")]
    [InlineData("""{"first_name":"canary\ud800"}""")]
    public void What_is_no_lead_is_refused_without_quoting_it(string json)
    {
        var refusal = Assert.Throws<JsonException>(() => JsonSerializer.Deserialize<Lead>(json));

        Assert.DoesNotContain("canary", refusal.ToString());
    }

    [Fact]
    public async Task Extra_must_not_repeat_a_property_that_is_set()
    {
        var lead = Ada with { Extra = new JsonObject { ["phone"] = "canary" } };

        var error = await Assert.ThrowsAsync<MisconfiguredException>(() => SentAsync(lead));

        Assert.DoesNotContain("canary", error.ToString());
        Assert.Contains("\"phone\":\"0\"", await SentAsync(new() { Extra = new JsonObject { ["phone"] = "0" } }));
    }

    [Fact]
    public async Task A_lead_that_JSON_cannot_express_is_refused_before_anything_is_sent()
    {
        var error = await Assert.ThrowsAsync<MisconfiguredException>(
            () => SentAsync(Ada with { Extra = new JsonObject { ["ratio"] = double.NaN } }));

        Assert.Equal((LeadsErrorKind.Misconfigured, 0, null), (error.Kind, error.Tries, error.RequestId));
    }

    private static async Task<string> SentAsync(Lead lead)
    {
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        using var client = server.NewClient();
        await client.PostLeadAsync(lead, "acme:1");
        return Assert.Single(server.Requests).Body;
    }
}
