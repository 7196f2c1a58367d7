using System.Collections;
using System.Diagnostics;
using System.Reflection;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Leads.Tests;

public class SecretsTests
{
    private static readonly Lead Canary = new() { FirstName = "Canary", LastName = "Canary", Phone = "canary" };

    [Fact]
    public async Task No_text_and_no_public_property_shows_the_key_or_the_lead()
    {
        using var server = new IntakeServer(request => IntakeServer.Json(
            422, $$"""{"error":"{{request.Headers["X-API-Key"]}}","detail":{{request.Body}}}"""));
        var options = server.Options();
        using var client = server.NewClient(options);

        var error = await Assert.ThrowsAsync<RefusedException>(() => client.PostLeadAsync(Canary, "acme:1"));

        AssertNoSecret(error.ToString());
        foreach (var subject in new object[] { client, options, error, Canary })
        {
            AssertNoSecret(subject.ToString());
            AssertNoSecret(DebuggerView(subject));
        }

        foreach (var subject in new object[] { client, options, error })
        {
            AssertNoSecret(string.Join('\n', subject.GetType().GetProperties()
                .Where(property => property.GetMethod?.IsPublic == true)
                .Select(property => property.GetValue(subject)?.ToString())));
        }
    }

    [Fact]
    public async Task No_activity_has_the_key_or_the_lead_and_none_goes_out()
    {
        using var work = new Activity("work of the program").AddBaggage("user", "canary");
        var seen = new List<string?>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = _ => true,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = activity =>
            {
                if (activity.TraceId == work.TraceId)
                {
                    seen.AddRange(
                        [activity.OperationName, .. activity.TagObjects.Select(tag => $"{tag.Key}={tag.Value}")]);
                }
            },
        };
        ActivitySource.AddActivityListener(listener);
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        using var client = server.NewClient();
        work.Start();
        await client.PostLeadAsync(Canary, "acme:1");
        work.Stop();

        Assert.Contains("System.Net.Http.HttpRequestOut", seen);
        AssertNoSecret(string.Join('\n', seen));
        var headers = Assert.Single(server.Requests).Headers.Keys;
        Assert.DoesNotContain(headers, name => name is "traceparent" or "Request-Id" or "baggage"
            or "Correlation-Context" or "tracestate");
    }

    [Fact]
    public async Task Set_up_as_in_the_README_an_IHttpClientFactory_logs_no_key()
    {
        using var server = new IntakeServer(_ => IntakeServer.Accepted());
        var logged = new List<string>();
        var services = new ServiceCollection();
        services.AddLogging(logging => logging.SetMinimumLevel(LogLevel.Trace).AddProvider(new ListLogger(logged)));
        services.AddHttpClient("leads")
            .ConfigurePrimaryHttpMessageHandler(LeadsClient.CreateHandler)
            .SetHandlerLifetime(Timeout.InfiniteTimeSpan)
            .RedactLoggedHeaders(["X-API-Key", "Idempotency-Key"]);
        services.AddSingleton(provider => new LeadsClient(
            provider.GetRequiredService<IHttpClientFactory>().CreateClient("leads"), server.Options()));
        await using var provider = services.BuildServiceProvider();

        var ack = await provider.GetRequiredService<LeadsClient>().PostLeadAsync(Canary, "acme:1");

        Assert.Equal(LeadStatus.Accepted, ack.Status);
        Assert.Contains(logged, line => line.Contains("X-API-Key", StringComparison.Ordinal));
        AssertNoSecret(string.Join('\n', logged));
    }

    private static void AssertNoSecret(string? text)
    {
        Assert.DoesNotContain("canary", text, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(IntakeServer.ApiKey[10..], text, StringComparison.Ordinal);
    }

    /// <summary>What a debugger shows of an object without being asked to open it, and of its fields when it is.</summary>
    private static string DebuggerView(object subject)
    {
        var type = subject.GetType();
        var display = type.GetCustomAttribute<DebuggerDisplayAttribute>()?.Value;
        Assert.True(display is null or "{ToString(),nq}");
        const BindingFlags members = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
        var shown = type.GetFields(members)
            .Where(field => field.GetCustomAttribute<DebuggerBrowsableAttribute>() is null
                && field.GetCustomAttribute<System.Runtime.CompilerServices.CompilerGeneratedAttribute>() is null)
            .Select(field => field.GetValue(subject));
        return subject is Lead ? "" : string.Join('\n', shown);
    }

    private sealed class ListLogger(List<string> lines) : ILoggerProvider, ILogger
    {
        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            lock (lines)
            {
                lines.Add($"{formatter(state, exception)} {exception}");
                if (state is IEnumerable values and not string)
                {
                    lines.AddRange(values.Cast<object>().Select(value => value.ToString()!));
                }
            }
        }

        public void Dispose()
        {
        }
    }
}
