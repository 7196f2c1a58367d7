using System.Diagnostics;
using System.Globalization;
using System.Net.Http.Headers;
using System.Text.Json;
using Leads;

// Posts a second of the kit and of the bare client that it is built on, a line of JSON a round.
const string json = """
    {"first_name":"Ada","last_name":"Lovelace","phone":"+1 415 555 0100","email":"ada@example.com","city":"San Francisco","cost":12.50}
    """;
var posts = int.Parse(args[0], CultureInfo.InvariantCulture);
var rounds = int.Parse(args[1], CultureInfo.InvariantCulture);
var intake = new Uri(Environment.GetEnvironmentVariable("LEADS_BASE_URL") + "/v1/intake");
var apiKey = Environment.GetEnvironmentVariable("LEADS_API_KEY")!;
using var bare = new HttpClient();
using var kit = new LeadsClient();
var sent = 0;
for (var round = 0; round <= rounds; round++)
{
    var kitFirst = round % 2 == 0;
    var kitRate = kitFirst ? await MeasureAsync(PostWithKitAsync) : 0;
    var bareRate = await MeasureAsync(PostBareAsync);
    kitRate = kitFirst ? kitRate : await MeasureAsync(PostWithKitAsync);
    if (round > 0)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $$"""{"kit":{{kitRate:F1}},"bare":{{bareRate:F1}}}"""));
    }
}

async Task<double> MeasureAsync(Func<string, Task> post)
{
    var began = Stopwatch.GetTimestamp();
    for (var i = 0; i < posts; i++)
    {
        await post($"bench:{sent++}");
    }

    return posts / Stopwatch.GetElapsedTime(began).TotalSeconds;
}

async Task PostWithKitAsync(string idempotencyKey) => await kit.PostLeadAsync(
    new Lead
    {
        FirstName = "Ada",
        LastName = "Lovelace",
        Phone = "+1 415 555 0100",
        Email = "ada@example.com",
        City = "San Francisco",
        Cost = 12.50m,
    },
    idempotencyKey);

async Task PostBareAsync(string idempotencyKey)
{
    using var request = new HttpRequestMessage(HttpMethod.Post, intake)
    {
        Content = new StringContent(json, new MediaTypeHeaderValue("application/json")),
    };
    request.Headers.Add("User-Agent", "leads-dotnet/0.1.0");
    request.Headers.Add("X-API-Key", apiKey);
    request.Headers.Add("Idempotency-Key", idempotencyKey);
    request.Headers.Add("X-Request-Id", "leads-dotnet-0123456789abcdef");
    using var response = await bare.SendAsync(request);
    response.EnsureSuccessStatusCode();
    using var answer = JsonDocument.Parse(await response.Content.ReadAsByteArrayAsync());
    _ = answer.RootElement.GetProperty("event_id").GetString();
}
