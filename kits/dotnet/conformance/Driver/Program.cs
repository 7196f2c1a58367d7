using System.Collections.Concurrent;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;
using Leads;

const int nestingMax = 10_000;

// Answers the lines of the conformance suite with the kit; the suite's README has the words.
var clients = new ConcurrentDictionary<string, Lazy<LeadsClient>>();
var output = new object();
var leadOptions = new JsonSerializerOptions { MaxDepth = nestingMax };
using var stdout = Console.OpenStandardOutput();
using var stdin = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
var running = new List<Task>();
// A carriage return ends a line here as well, and JSON has none but escaped.
while (await stdin.ReadLineAsync() is { } line)
{
    var asked = JsonNode.Parse(line)!.AsObject();
    running.Add(Task.Run(async () => Write(await AnswerAsync(asked))));
}

await Task.WhenAll(running);

void Write(JsonObject answer)
{
    var options = new JsonSerializerOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
    var bytes = Encoding.UTF8.GetBytes(answer.ToJsonString(options) + "\n");
    lock (output)
    {
        stdout.Write(bytes);
        stdout.Flush();
    }
}

async Task<JsonObject> AnswerAsync(JsonObject asked)
{
    using var cancellation = new CancellationTokenSource();
    var clock = new CallClock(
        (bool?)asked["real_time"] ?? false, (int?)asked["cancel_after_waits"] ?? 0, cancellation);
    CallClock.OfThisCall.Value = clock;
    var text = new StringBuilder();
    var answer = new JsonObject { ["id"] = asked["id"]?.DeepClone() };
    try
    {
        answer["result"] = await CallAsync(asked, text, cancellation.Token);
    }
    catch (Exception e) when (e is ILeadsError error)
    {
        answer["error"] = Describe(error);
        text.AppendLine(e.ToString()).AppendLine(e.Message).AppendLine(e.InnerException?.ToString());
    }
    catch (Exception e)
    {
        answer["crash"] = e.GetType().FullName;
        Console.Error.WriteLine(e);
    }

    answer["waits_ms"] = new JsonArray([.. clock.Waits.Select(wait => (JsonNode)wait.TotalMilliseconds)]);
    answer["text"] = text.ToString();
    return answer;
}

async Task<JsonObject> CallAsync(JsonObject asked, StringBuilder text, CancellationToken cancellationToken)
{
    var call = (string?)asked["call"];
    if (call == "idempotency_key")
    {
        var key = LeadsClient.IdempotencyKey((string)asked["namespace"]!, (string)asked["item"]!);
        text.AppendLine(key);
        return new JsonObject { ["idempotency_key"] = key };
    }

    var client = Client(asked);
    var options = new CallOptions
    {
        RequestId = (string?)asked["request_id"],
        Deadline = Milliseconds(asked["options"]?["deadline_ms"]),
    };
    text.AppendLine(client.ToString()).AppendLine(options.ToString());
    switch (call)
    {
        case "check_key":
            var check = await client.CheckKeyAsync(options, cancellationToken);
            text.AppendLine(check.ToString());
            return new JsonObject
            {
                ["verdict"] = Wire(check.Verdict),
                ["request_id"] = check.RequestId,
                ["tries"] = check.Tries,
            };
        case "post_lead":
            var lead = JsonSerializer.Deserialize<Lead>((string)asked["lead_json"]!, leadOptions)!;
            text.AppendLine(lead.ToString());
            var ack = await client.PostLeadAsync(
                lead, (string)asked["idempotency_key"]!, options, cancellationToken);
            text.AppendLine(ack.ToString());
            return new JsonObject
            {
                ["event_id"] = ack.EventId,
                ["status"] = Wire(ack.Status),
                ["received_at"] = ack.ReceivedAt,
                ["source"] = ack.Source,
                ["flags"] = Strings(ack.Flags),
                ["request_id"] = ack.RequestId,
                ["tries"] = ack.Tries,
            };
        case "vocabulary":
            var vocabulary = await client.GetVocabularyAsync(options, cancellationToken);
            text.AppendLine(vocabulary.ToString());
            return new JsonObject
            {
                ["areas"] = new JsonArray([.. vocabulary.Areas.Select(area =>
                    new JsonObject { ["area"] = area.Area, ["status"] = area.Status })]),
                ["services"] = Strings(vocabulary.Services),
                ["required"] = Strings(vocabulary.Required),
            };
        default:
            throw new InvalidOperationException($"There is no call {call}");
    }
}

LeadsClient Client(JsonObject asked)
{
    var made = new Lazy<LeadsClient>(() => NewClient(asked));
    return (string?)asked["client"] is { } name ? clients.GetOrAdd(name, made).Value : made.Value;
}

static LeadsClient NewClient(JsonObject asked)
{
    var defaults = new LeadsClientOptions();
    var given = asked["options"];
    var random = (double?)asked["random"];
    var options = new LeadsClientOptions
    {
        ApiKey = (string?)asked["key"],
        BaseUrl = (string?)asked["base_url"],
        Tries = (int?)given?["tries"] ?? defaults.Tries,
        TryTimeout = Milliseconds(given?["try_timeout_ms"]) ?? defaults.TryTimeout,
        TimeProvider = new ClockOfThisCall(),
        Random = random is { } fixedly ? () => fixedly : defaults.Random,
    };
    if ((string?)asked["ca_file"] is not { } file)
    {
        return new LeadsClient(options);
    }

    var policy = new X509ChainPolicy
    {
        TrustMode = X509ChainTrustMode.CustomRootTrust,
        RevocationMode = X509RevocationMode.NoCheck,
    };
    using var platform = new X509Store(StoreName.Root, StoreLocation.LocalMachine, OpenFlags.ReadOnly);
    policy.CustomTrustStore.AddRange(platform.Certificates);
    policy.CustomTrustStore.ImportFromPemFile(file);
    var handler = LeadsClient.CreateHandler();
    handler.SslOptions.CertificateChainPolicy = policy;
    handler.ConnectTimeout = options.TryTimeout;
    return new LeadsClient(new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan }, options);
}

static JsonObject Describe(ILeadsError error)
{
    var described = new JsonObject
    {
        ["kind"] = error.Kind switch
        {
            LeadsErrorKind.InvalidLead => "invalid_lead",
            LeadsErrorKind.Canceled => "cancelled",
            var kind => Wire(kind),
        },
        ["status"] = error.Status,
        ["code"] = error.Code,
        ["detail"] = error.Detail,
        ["request_id"] = error.RequestId,
        ["tries"] = error.Tries,
        ["unknown_outcome"] = error.UnknownOutcome,
    };
    if (error is InvalidLeadException invalid)
    {
        described["fields"] = new JsonObject(
            invalid.Fields.Select(field => KeyValuePair.Create<string, JsonNode?>(field.Key, field.Value)));
    }

    return described;
}

static string Wire(Enum value) => value.ToString().ToLowerInvariant();

static JsonArray Strings(IEnumerable<string> values) => new([.. values.Select(value => (JsonNode)value)]);

static TimeSpan? Milliseconds(JsonNode? value) => value is null ? null : TimeSpan.FromMilliseconds((double)value);

/// <summary>The clock of the call that runs: a client is shared, and each line has a clock of its own.</summary>
internal sealed class ClockOfThisCall : TimeProvider
{
    public override long GetTimestamp() => base.GetTimestamp() + (CallClock.OfThisCall.Value!.Skipped.Ticks
        * TimestampFrequency / TimeSpan.TicksPerSecond);

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + CallClock.OfThisCall.Value!.Skipped;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        base.CreateTimer(callback, state, CallClock.OfThisCall.Value!.Begin(dueTime), period);
}

/// <summary>Records the waits of one call, and adds them to its time in place of sleeping unless in real time.</summary>
internal sealed class CallClock(bool realTime, int cancelAfterWaits, CancellationTokenSource cancellation)
{
    public static readonly AsyncLocal<CallClock?> OfThisCall = new();

    public List<TimeSpan> Waits { get; } = [];

    public TimeSpan Skipped { get; private set; }

    /// <summary>How long to sleep for real.</summary>
    public TimeSpan Begin(TimeSpan wait)
    {
        Waits.Add(wait);
        if (Waits.Count == cancelAfterWaits)
        {
            cancellation.CancelAfter(TimeSpan.Zero);
            return Timeout.InfiniteTimeSpan;
        }

        if (realTime)
        {
            return wait;
        }

        Skipped += wait;
        return TimeSpan.Zero;
    }
}
