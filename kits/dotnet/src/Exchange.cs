using System.Diagnostics;
using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Security.Authentication;

namespace Leads;

/// <summary>One request, sent over and over by the tries of a call.</summary>
internal sealed record RequestTemplate(HttpMethod Method, Uri Url, string RequestId)
{
    private static readonly MediaTypeHeaderValue Json = new("application/json");

    /// <summary>Null for a GET.</summary>
    internal byte[]? Body { get; init; }

    [DebuggerBrowsable(DebuggerBrowsableState.Never)]
    internal string? ApiKey { get; init; }

    internal string? IdempotencyKey { get; init; }

    internal string? IfNoneMatch { get; init; }

    /// <summary>The generated form would show the key.</summary>
    public override string ToString() => nameof(RequestTemplate);

    internal HttpRequestMessage NewMessage(Exchange exchange)
    {
        var message = new HttpRequestMessage(Method, Url) { Version = HttpVersion.Version11 };
        Add("User-Agent", LeadsClient.UserAgent);
        Add("X-Request-Id", RequestId);
        Add("X-API-Key", ApiKey);
        Add("Idempotency-Key", IdempotencyKey);
        Add("If-None-Match", IfNoneMatch);
        if (Body is not null)
        {
            message.Content = new TrackedContent(Body, exchange);
            message.Content.Headers.ContentType = Json;
        }

        return message;

        void Add(string name, string? value)
        {
            if (value is not null)
            {
                message.Headers.TryAddWithoutValidation(name, value);
            }
        }
    }

    /// <summary>Tells when it is asked for, because a handler without a <see cref="GuardedStream"/> tells nothing else.</summary>
    private sealed class TrackedContent(byte[] body, Exchange exchange) : HttpContent
    {
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
            SerializeToStreamAsync(stream, context, CancellationToken.None);

        protected override Task SerializeToStreamAsync(
            Stream stream, TransportContext? context, CancellationToken cancellationToken)
        {
            exchange.BeginContent();
            return stream.WriteAsync(body, cancellationToken).AsTask();
        }

        protected override bool TryComputeLength(out long length)
        {
            length = body.Length;
            return true;
        }
    }
}

/// <summary>What one try came to.</summary>
/// <param name="Answer">A whole answer.</param>
/// <param name="Status">The status of an answer that came, whole or not.</param>
/// <param name="Refused">Why it must not be repeated although no whole answer came.</param>
/// <param name="Problem">Why no answer came.</param>
/// <param name="Cause">An exception that cannot quote what was sent or received.</param>
/// <param name="Sent">Whether bytes of the request went out on an established connection.</param>
internal sealed record Outcome(
    Answer? Answer = null,
    int? Status = null,
    string? Refused = null,
    string? Problem = null,
    Exception? Cause = null,
    bool Sent = false);

/// <summary>One try: a request, and what <see cref="GuardedStream"/> sees of it.</summary>
internal sealed class Exchange
{
    private const int InterimMax = 20;

    /// <summary>How many kept connections of a pool one try may find unusable.</summary>
    private const int StaleConnectionsMax = 64;

    private static readonly AsyncLocal<Exchange?> CurrentOfFlow = new();

    private volatile bool _contentAsked;
    private volatile bool _foundStale;
    private int _interim;
    private int _interimStatus;

    /// <summary>The exchange whose request the running code writes; null for anybody else's.</summary>
    internal static Exchange? Current => CurrentOfFlow.Value;

    internal bool WasWritten { get; private set; }

    private bool Sent => WasWritten || (_contentAsked && !_foundStale);

    internal async Task<Outcome> SendAsync(HttpClient http, RequestTemplate template, CancellationToken tryEnds)
    {
        CurrentOfFlow.Value = this;
        for (var stale = 0; ; stale++)
        {
            using var message = template.NewMessage(this);
            try
            {
                using var response = await http
                    .SendAsync(message, HttpCompletionOption.ResponseHeadersRead, tryEnds)
                    .ConfigureAwait(false);
                return response.RequestMessage?.RequestUri is { } answered && answered != template.Url
                    ? Refuse((int)response.StatusCode, "The HttpClient followed a redirect; turn that off.")
                    : await ReadAsync(response, tryEnds).ConfigureAwait(false);
            }
            // A handler may throw anything, and a message may quote anything: only what is safe is kept.
            catch (Exception e)
            {
                if (_interim > InterimMax)
                {
                    return Refuse(_interimStatus, "More than 20 interim answers came.");
                }

                if (!_foundStale || WasWritten || stale == StaleConnectionsMax || tryEnds.IsCancellationRequested)
                {
                    return new Outcome(Problem: Explain(e), Cause: SafeCause(e), Sent: Sent);
                }

                _contentAsked = false;
                _foundStale = false;
            }
        }
    }

    internal void BeginContent() => _contentAsked = true;

    internal void BeginWriting() => WasWritten = true;

    internal void FoundStaleConnection() => _foundStale = true;

    /// <summary>False when there are too many.</summary>
    internal bool CountInterim(int status)
    {
        _interimStatus = status;
        return ++_interim <= InterimMax;
    }

    private static Outcome Refuse(int status, string reason) => new(Status: status, Refused: reason, Sent: true);

    private static async Task<Outcome> ReadAsync(HttpResponseMessage response, CancellationToken tryEnds)
    {
        var status = (int)response.StatusCode;
        if (response.StatusCode == HttpStatusCode.SwitchingProtocols)
        {
            return Refuse(status, "The answer switches protocols.");
        }

        const string tooLong = "The answer is longer than 1,048,576 bytes.";
        var announced = response.Content.Headers.ContentLength;
        if (announced > Answer.BytesMax)
        {
            return Refuse(status, tooLong);
        }

        // One byte more than is expected, so that the end is found without growing.
        var body = new byte[(announced ?? 1023) + 1];
        var length = 0;
        var stream = await response.Content.ReadAsStreamAsync(tryEnds).ConfigureAwait(false);
        await using (stream.ConfigureAwait(false))
        {
            while (true)
            {
                var count = await stream.ReadAsync(body.AsMemory(length), tryEnds).ConfigureAwait(false);
                if (count == 0)
                {
                    break;
                }

                length += count;
                if (length > Answer.BytesMax)
                {
                    return Refuse(status, tooLong);
                }

                if (length == body.Length)
                {
                    Array.Resize(ref body, Math.Min(body.Length * 2, Answer.BytesMax + 1));
                }
            }
        }

        var answer = new Answer(response.StatusCode, response.Headers, body.AsMemory(0, length));
        return new Outcome(answer, status, Sent: true);
    }

    private static string Explain(Exception exception) => exception switch
    {
        OperationCanceledException => "No whole answer came in time.",
        HttpRequestException http => Explain(http.HttpRequestError),
        HttpIOException http => Explain(http.HttpRequestError),
        _ => Explain(HttpRequestError.Unknown),
    };

    private static string Explain(HttpRequestError error) => error switch
    {
        HttpRequestError.NameResolutionError => "The name of the host could not be resolved.",
        HttpRequestError.ConnectionError => "The connection could not be opened.",
        HttpRequestError.SecureConnectionError => "The TLS handshake failed.",
        HttpRequestError.ProxyTunnelError => "The proxy refused the connection.",
        HttpRequestError.ResponseEnded => "The connection was closed before a whole answer came.",
        HttpRequestError.InvalidResponse => "What came is not HTTP.",
        _ => "The connection failed.",
    };

    private static Exception? SafeCause(Exception? exception)
    {
        while (exception is not (null or SocketException or AuthenticationException))
        {
            exception = exception.InnerException;
        }

        return exception;
    }
}
