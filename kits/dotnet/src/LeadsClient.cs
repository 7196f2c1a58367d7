using System.Diagnostics;
using System.Net;
using System.Security.Authentication;
using System.Text;

namespace Leads;

/// <summary>
/// Posts leads with one key to one address. Any number of threads may share a client. It opens nothing before its
/// first call and keeps its connections for the next one.
/// </summary>
[DebuggerDisplay("{ToString(),nq}")]
public sealed class LeadsClient : IDisposable, IAsyncDisposable
{
    private static readonly byte[] EmptyObject = Encoding.UTF8.GetBytes("{}");

    private readonly LeadsClientOptions _options;
    private readonly HttpClient _http;
    private readonly bool _ownsHttp;
    private readonly Uri _baseUrl;
    private readonly VocabularyCache _vocabulary;

    [DebuggerBrowsable(DebuggerBrowsableState.Never)]
    private readonly string _apiKey;

    private volatile bool _isDisposed;

    /// <summary>Makes a client with connections of its own.</summary>
    /// <param name="options">Settings. Null: key and address come from the environment.</param>
    /// <exception cref="MisconfiguredException">The key, the address or a setting is wrong.</exception>
    public LeadsClient(LeadsClientOptions? options = null)
        : this(options ?? new(), null)
    {
    }

    /// <summary>Makes a client over an <see cref="HttpClient"/>, which stays the caller's to dispose.</summary>
    /// <remarks>
    /// Give it the handler of <see cref="CreateHandler"/>. If you use another one, turn redirects off: the key would
    /// follow them. <see cref="ILeadsError.UnknownOutcome"/> is then true more often than necessary.
    /// </remarks>
    /// <param name="httpClient">Sends the requests. Its time-out must not be shorter than that of a try.</param>
    /// <param name="options">Settings. Null: key and address come from the environment.</param>
    /// <exception cref="MisconfiguredException">The key, the address or a setting is wrong.</exception>
    public LeadsClient(HttpClient httpClient, LeadsClientOptions? options = null)
        : this(options ?? new(), httpClient ?? throw new ArgumentNullException(nameof(httpClient)))
    {
    }

    private LeadsClient(LeadsClientOptions options, HttpClient? httpClient)
    {
        options.Check();
        _apiKey = Arguments.ApiKey(options.ApiKey);
        _baseUrl = Arguments.BaseUrl(options.BaseUrl);
        _options = options;
        _ownsHttp = httpClient is null;
        _http = httpClient ?? NewHttpClient(options.TryTimeout);
        _vocabulary = new VocabularyCache(options.TimeProvider);
    }

    /// <summary>The kit's name and version.</summary>
    internal static string UserAgent { get; } =
        $"{Call.ProductName}/{typeof(LeadsClient).Assembly.GetName().Version!.ToString(3)}";

    /// <summary>
    /// The handler that the kit itself uses: TLS 1.2 or 1.3, the platform's proxies and authorities, no redirects and
    /// no cookies. It is for an <see cref="HttpClient"/> of your own or of an <c>IHttpClientFactory</c>; change what
    /// you need before its first request.
    /// </summary>
    public static SocketsHttpHandler CreateHandler() => new()
    {
        AllowAutoRedirect = false,
        UseCookies = false,
        Proxy = new HttpsProxy(HttpClient.DefaultProxy),
        // Without it, a handshake that hangs keeps the next try from opening a connection.
        ConnectTimeout = LeadsClientOptions.DefaultTryTimeout,
        // A connection that lives on follows no change of the host's address.
        PooledConnectionLifetime = TimeSpan.FromMinutes(10),
        // The rest of an answer that is too long is not read to reuse its connection.
        MaxResponseDrainSize = 0,
        // Traces stay on this side: no traceparent or baggage goes out.
        ActivityHeadersPropagator = DistributedContextPropagator.CreateNoOutputPropagator(),
        SslOptions = { EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13 },
        // What a proxy is asked is no request of the kit's.
        PlaintextStreamFilter = (context, _) => ValueTask.FromResult(
            context.InitialRequestMessage.Method == HttpMethod.Connect
                ? context.PlaintextStream
                : new GuardedStream(context.PlaintextStream)),
    };

    /// <summary>Joins a namespace of yours and your id of a lead to an idempotency key, <c>namespace:id</c>.</summary>
    /// <param name="namespace">Tells your leads from those of the customer's other sources. Not blank.</param>
    /// <param name="id">Your id of the lead, the same on every retry. Not blank.</param>
    /// <exception cref="MisconfiguredException">
    /// A part is blank, or the result is not an idempotency key: printable ASCII, 200 characters at most, no space at
    /// either end.
    /// </exception>
    public static string IdempotencyKey(string @namespace, string id) => Arguments.IdempotencyKey(@namespace, id);

    /// <summary>Posts a lead. The same key and the same bytes go out on every try.</summary>
    /// <param name="lead">What is posted, as it is now: a later change has no effect.</param>
    /// <param name="idempotencyKey">Prevents duplicates; see <see cref="IdempotencyKey"/>.</param>
    /// <param name="options">What differs for this call.</param>
    /// <param name="cancellationToken">Ends a try or a wait at once.</param>
    /// <returns>The service's promise. Keep its <see cref="Acknowledgement.EventId"/>.</returns>
    /// <exception cref="LeadsException">The lead was not acknowledged; its class says what to do.</exception>
    /// <exception cref="LeadsCanceledException">The token was canceled.</exception>
    public async Task<Acknowledgement> PostLeadAsync(
        Lead lead,
        string idempotencyKey,
        CallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(lead);
        var call = NewCall(options, cancellationToken);
        var template = new RequestTemplate(HttpMethod.Post, Url("v1/intake"), call.RequestId)
        {
            ApiKey = _apiKey,
            IdempotencyKey = Arguments.IdempotencyKey(idempotencyKey),
            Body = LeadConverter.Body(lead),
        };
        return await call
            .RunAsync(template, answer => answer.ReadAcknowledgement(call.RequestId, call.Tries))
            .ConfigureAwait(false);
    }

    /// <summary>Asks whether the key is active. Nothing is stored.</summary>
    /// <param name="options">What differs for this call.</param>
    /// <param name="cancellationToken">Ends a try or a wait at once.</param>
    /// <exception cref="LeadsException">Nothing was found out; its class says what to do.</exception>
    /// <exception cref="LeadsCanceledException">The token was canceled.</exception>
    public async Task<KeyCheck> CheckKeyAsync(
        CallOptions? options = null, CancellationToken cancellationToken = default)
    {
        var call = NewCall(options, cancellationToken);
        var template = new RequestTemplate(HttpMethod.Post, Url("v1/intake"), call.RequestId)
        {
            ApiKey = _apiKey,
            Body = EmptyObject,
        };
        return await call.RunAsync(template, answer => answer switch
        {
            { Status: 422, Code: "validation_failed" } => new KeyCheck(KeyVerdict.Valid, call.RequestId, call.Tries),
            { Status: 401 } => new KeyCheck(KeyVerdict.Invalid, call.RequestId, call.Tries),
            _ => null,
        }).ConfigureAwait(false);
    }

    /// <summary>
    /// Reads the vocabulary, without the key: the last one while the service's <c>max-age</c> lasts, else a new one.
    /// </summary>
    /// <param name="options">What differs for this call.</param>
    /// <param name="cancellationToken">Ends a try or a wait at once.</param>
    /// <exception cref="LeadsException">The vocabulary could not be read; its class says what to do.</exception>
    /// <exception cref="LeadsCanceledException">The token was canceled.</exception>
    public async Task<Vocabulary> GetVocabularyAsync(
        CallOptions? options = null, CancellationToken cancellationToken = default)
    {
        var call = NewCall(options, cancellationToken);
        return await _vocabulary.GetAsync(call, Url("v1/vocabulary"), cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Closes the client's own connections.</summary>
    public void Dispose()
    {
        _isDisposed = true;
        if (_ownsHttp)
        {
            _http.Dispose();
        }
    }

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync()
    {
        Dispose();
        return ValueTask.CompletedTask;
    }

    /// <summary>Shows the address and not the key.</summary>
    public override string ToString() => $"{nameof(LeadsClient)} {_baseUrl}";

    private static HttpClient NewHttpClient(TimeSpan tryTimeout)
    {
        var handler = CreateHandler();
        handler.ConnectTimeout = tryTimeout;
        return new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
    }

    private Uri Url(string path) => new(_baseUrl, path);

    private Call NewCall(CallOptions? options, CancellationToken cancellationToken)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        return new Call(_http, _options, options, cancellationToken);
    }

    /// <summary>The platform's proxy; plain HTTP goes to this machine and past every proxy.</summary>
    private sealed class HttpsProxy(IWebProxy platform) : IWebProxy
    {
        public ICredentials? Credentials
        {
            get => platform.Credentials;
            set => platform.Credentials = value;
        }

        public Uri? GetProxy(Uri destination) => IsBypassed(destination) ? null : platform.GetProxy(destination);

        public bool IsBypassed(Uri host) => host.Scheme != Uri.UriSchemeHttps || platform.IsBypassed(host);
    }
}
