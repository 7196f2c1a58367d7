using System.Collections.Concurrent;
using System.Diagnostics;

namespace Leads.Tests;

public class ClientTests
{
    private static readonly Lead Ada = new() { FirstName = "Ada", LastName = "Lovelace", Phone = "+1 415 555 0100" };

    [Fact]
    public async Task Threads_that_share_a_client_get_their_own_answers_over_no_more_connections_than_calls()
    {
        const int width = 8;
        using var server = new IntakeServer(request => IntakeServer.Accepted(request.Headers["Idempotency-Key"]));
        await using var client = server.NewClient();

        await Parallel.ForEachAsync(
            Enumerable.Range(0, 400),
            new ParallelOptions { MaxDegreeOfParallelism = width },
            async (n, cancellationToken) =>
            {
                var key = LeadsClient.IdempotencyKey("acme", $"{n}");
                var ack = await client.PostLeadAsync(Ada, key, cancellationToken: cancellationToken);
                Assert.Equal(key, ack.EventId);
            });

        Assert.Equal(400, server.Requests.Count);
    }

    [Fact]
    public async Task Of_many_callers_one_asks_for_the_vocabulary()
    {
        using var server = new IntakeServer(_ => IntakeServer.Json(
            200,
            """{"project_area":[{"area":"roof","status":"confirmed"}],"project_service":["repair"],"required":["phone"]}""",
            "Cache-Control: public, max-age=300\r\n"));
        using var client = server.NewClient();

        var all = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => client.GetVocabularyAsync()));

        Assert.All(all, vocabulary => Assert.Equal([new VocabularyArea("roof", "confirmed")], vocabulary.Areas));
        Assert.Single(server.Requests);
    }

    [Fact]
    public async Task A_read_that_went_out_is_not_repeated_behind_the_callers_back()
    {
        // SocketsHttpHandler itself sends a GET again when a connection that was used before closes.
        var posts = 0;
        using var server = new IntakeServer(_ => posts++ == 0 ? IntakeServer.Accepted() : null);
        var tries = new List<TryEvent>();
        using var client = server.NewClient(server.Options(tries: 1, onTry: tries.Add));
        await client.PostLeadAsync(Ada, "acme:1");

        var error = await Assert.ThrowsAsync<UnavailableException>(() => client.GetVocabularyAsync());

        Assert.Equal(1, error.Tries);
        Assert.Equal(["POST", "GET"], tries.Select(each => each.Method));
        Assert.Equal(2, server.Requests.Count);
    }

    [Fact]
    public async Task The_observer_hears_of_tries_and_waits_and_what_it_throws_costs_nothing()
    {
        var answers = new Queue<string>([
            IntakeServer.Json(503, """{"error":"not_accepting"}"""),
            IntakeServer.Json(429, """{"error":"rate_limited"}""", "Retry-After: 3\r\n"),
            IntakeServer.Accepted(),
        ]);
        using var server = new IntakeServer(_ => answers.Dequeue());
        var tries = new List<TryEvent>();
        var waits = new List<WaitEvent>();
        using var client = server.NewClient(server.Options(
            onTry: each =>
            {
                tries.Add(each);
                throw new InvalidOperationException("It cannot be logged.");
            },
            onWait: waits.Add));

        var ack = await client.PostLeadAsync(Ada, "acme:1", new CallOptions { RequestId = "r-1" });

        Assert.Equal(2, ack.Tries);
        Assert.Equal([503, 429, 202], tries.Select(each => each.Status));
        Assert.All(tries, each => Assert.Equal(("POST", "r-1"), (each.Method, each.RequestId)));
        Assert.Equal(
            [new(TimeSpan.FromSeconds(0.75), false, "r-1"), new(TimeSpan.FromSeconds(3.375), true, "r-1")],
            waits);
    }

    [Fact]
    public async Task A_wait_is_never_shorter_than_what_was_asked_for()
    {
        var asked = TimeSpan.FromSeconds(1);
        var seen = new ConcurrentDictionary<string, long>();
        var waited = new ConcurrentBag<TimeSpan>();
        using var server = new IntakeServer(request =>
        {
            var key = request.Headers["Idempotency-Key"];
            if (seen.TryRemove(key, out var first))
            {
                waited.Add(Stopwatch.GetElapsedTime(first));
                return IntakeServer.Accepted();
            }

            seen[key] = Stopwatch.GetTimestamp();
            return IntakeServer.Json(503, "{}", "Retry-After: 1\r\n");
        });
        using var client = new LeadsClient(
            new LeadsClientOptions { ApiKey = IntakeServer.ApiKey, BaseUrl = server.Url, Random = () => 0 });

        await Task.WhenAll(Enumerable.Range(0, 64).Select(n => client.PostLeadAsync(Ada, $"acme:{n}")));

        Assert.Equal(64, waited.Count);
        Assert.All(waited, wait => Assert.InRange(wait, asked, TimeSpan.MaxValue));
    }

    [Fact]
    public async Task A_canceled_call_is_a_canceled_task_that_tells_what_is_known_of_the_lead()
    {
        using var cancellation = new CancellationTokenSource();
        var hangs = new TaskCompletionSource<string?>();
        using var server = new IntakeServer(async (_, _) =>
        {
            await cancellation.CancelAsync();
            return await hangs.Task;
        });
        using var client = server.NewClient();

        var call = client.PostLeadAsync(Ada, "acme:1", cancellationToken: cancellation.Token);
        var canceled = await Assert.ThrowsAsync<LeadsCanceledException>(() => call);
        hangs.SetResult(null);

        Assert.True(call.IsCanceled);
        Assert.Equal(cancellation.Token, canceled.CancellationToken);
        Assert.Equal((LeadsErrorKind.Canceled, 1, true), (canceled.Kind, canceled.Tries, canceled.UnknownOutcome));

        var unsent = await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => client.CheckKeyAsync(cancellationToken: cancellation.Token));
        Assert.Equal((0, null), (((ILeadsError)unsent).Tries, ((ILeadsError)unsent).RequestId));
        Assert.Single(server.Requests);
    }

    [Fact]
    public async Task An_HttpClient_of_the_callers_stays_the_callers_and_may_have_any_handler()
    {
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        using var http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false });
        await using (var client = new LeadsClient(http, server.Options()))
        {
            Assert.Equal("event-1", (await client.PostLeadAsync(Ada, "acme:1")).EventId);
        }

        using var again = new LeadsClient(http, server.Options());
        Assert.Equal("event-1", (await again.PostLeadAsync(Ada, "acme:1")).EventId);
    }

    [Fact]
    public async Task Over_any_handler_a_post_that_went_out_has_an_unknown_outcome_and_one_that_did_not_has_none()
    {
        using var server = new IntakeServer(Nothing);
        using var http = new HttpClient(new HttpClientHandler());
        using var client = new LeadsClient(http, server.Options(tries: 1));
        Assert.True((await Assert.ThrowsAsync<UnavailableException>(
            () => client.PostLeadAsync(Ada, "acme:1"))).UnknownOutcome);

        var options = server.Options(tries: 1);
        server.Dispose();
        using var nobody = new LeadsClient(http, options);
        Assert.False((await Assert.ThrowsAsync<UnavailableException>(
            () => nobody.PostLeadAsync(Ada, "acme:1"))).UnknownOutcome);
    }

    [Fact]
    public async Task An_HttpClient_that_follows_redirects_is_refused_as_soon_as_it_does()
    {
        using var elsewhere = new IntakeServer(_ => IntakeServer.Accepted());
        using var server = new IntakeServer(
            _ => $"HTTP/1.1 307 Status\r\nLocation: {elsewhere.Url}/canary\r\nContent-Length: 0\r\n\r\n");
        using var http = new HttpClient(new HttpClientHandler());
        using var client = new LeadsClient(http, server.Options());

        var refused = await Assert.ThrowsAsync<RefusedException>(() => client.PostLeadAsync(Ada, "acme:1"));

        Assert.Contains("redirect", refused.Message);
        Assert.DoesNotContain("canary", refused.ToString());
        Assert.True(refused.UnknownOutcome);
        Assert.Equal(1, refused.Tries);
    }

    [Fact]
    public async Task What_a_handler_above_throws_is_a_try_that_failed()
    {
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        using var http = new HttpClient(new Breaker { InnerHandler = LeadsClient.CreateHandler() });
        using var client = new LeadsClient(http, server.Options(tries: 2));

        var error = await Assert.ThrowsAsync<UnavailableException>(() => client.PostLeadAsync(Ada, "acme:canary"));

        Assert.Equal((2, false), (error.Tries, error.UnknownOutcome));
        Assert.DoesNotContain("canary", error.ToString());
    }

    [Fact]
    public async Task A_client_that_was_disposed_says_so()
    {
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        var client = server.NewClient();
        await client.DisposeAsync();

        await Assert.ThrowsAsync<ObjectDisposedException>(() => client.PostLeadAsync(Ada, "acme:1"));
        Assert.Empty(server.Requests);
    }

    [Theory]
    [InlineData("https://leads.example/")]
    [InlineData("HTTPS://leads.example:8443/a/b/")]
    [InlineData("http://127.8.9.1:80")]
    [InlineData("http://LOCALHOST:8080/")]
    public void An_address_is_https_or_this_machine(string address) =>
        new LeadsClient(new LeadsClientOptions { ApiKey = IntakeServer.ApiKey, BaseUrl = address }).Dispose();

    [Theory]
    [InlineData("http://127.1")]
    [InlineData("http://0x7f000001")]
    [InlineData("http://127.0.0.1.leads.example")]
    [InlineData("http://localhost.leads.example")]
    [InlineData("http:\\\\localhost")]
    [InlineData("https:leads.example")]
    [InlineData("https:/leads.example")]
    [InlineData("https:///leads.example")]
    [InlineData(" https://leads.example")]
    [InlineData("https://@leads.example")]
    [InlineData("https://canary:canary@leads.example")]
    [InlineData("https://leads.example\\@127.0.0.1")]
    [InlineData("https://leads.example?")]
    [InlineData("https://leads.example/#")]
    [InlineData("https://leads.example:0")]
    [InlineData("https://leads.example:99999")]
    [InlineData("ftp://leads.example")]
    [InlineData("canary")]
    public void Any_other_address_is_refused_without_quoting_it(string address)
    {
        var error = Assert.Throws<MisconfiguredException>(
            () => new LeadsClient(new LeadsClientOptions { ApiKey = IntakeServer.ApiKey, BaseUrl = address }));

        Assert.DoesNotContain("canary", error.ToString());
    }

    [Fact]
    public void Settings_with_which_no_call_could_keep_its_promises_are_refused()
    {
        LeadsClientOptions[] settings =
        [
            new() { Tries = 0 },
            new() { Deadline = TimeSpan.Zero },
            new() { Deadline = TimeSpan.MaxValue },
            new() { TryTimeout = Timeout.InfiniteTimeSpan },
        ];

        Assert.All(settings, each => Assert.Throws<MisconfiguredException>(() => new LeadsClient(each)));
    }

    private static string? Nothing(Received request) => null;

    /// <summary>A handler such as those for resilience have it.</summary>
    private sealed class Breaker : DelegatingHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            throw new InvalidOperationException($"The circuit is open: {request.Headers}");
    }
}
