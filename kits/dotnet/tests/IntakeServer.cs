using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Leads.Tests;

/// <summary>A request as it came in.</summary>
internal sealed record Received(string Target, IReadOnlyDictionary<string, string> Headers, string Body);

/// <summary>
/// A server on the loopback that gives each request the answer of a function: bytes as they stand, or null to close the
/// connection.
/// </summary>
internal sealed class IntakeServer : IDisposable
{
    public const string ApiKey = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly Func<Received, Stream, Task<string?>> _answer;
    private readonly X509Certificate2? _certificate;

    public IntakeServer(Func<Received, string?> answer, X509Certificate2? certificate = null)
        : this((request, _) => Task.FromResult(answer(request)), certificate)
    {
    }

    public IntakeServer(Func<Received, Stream, Task<string?>> answer, X509Certificate2? certificate = null)
    {
        _answer = answer;
        _certificate = certificate;
        _listener.Start();
        _ = AcceptAsync();
    }

    public ConcurrentQueue<Received> Requests { get; } = [];

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public string Url => $"{(_certificate is null ? "http" : "https")}://localhost:{Port}";

    public static string Accepted(string eventId = "event-1") => Json(
        202,
        $$"""{"event_id":"{{eventId}}","status":"accepted","received_at":"2026-11-25T09:00:00.000Z","source":"s","flags":[]}""");

    public static string Json(int status, string body, string headers = "") =>
        $"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n{headers}"
        + $"Content-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n{body}";

    public LeadsClient NewClient(LeadsClientOptions? options = null) => new(options ?? Options());

    public LeadsClientOptions Options(int tries = 5, Action<TryEvent>? onTry = null, Action<WaitEvent>? onWait = null) =>
        new()
        {
            ApiKey = ApiKey,
            BaseUrl = Url,
            Tries = tries,
            TimeProvider = new NoWaits(),
            Random = () => 0.5,
            OnTry = onTry,
            OnWait = onWait,
        };

    public void Dispose() => _listener.Dispose();

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                _ = ServeAsync(await _listener.AcceptTcpClientAsync());
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The listener was disposed.
        }
    }

    private async Task ServeAsync(TcpClient connection)
    {
        using (connection)
        {
            try
            {
                await using Stream stream = _certificate is null
                    ? connection.GetStream()
                    : await SecureAsync(connection.GetStream(), _certificate);
                using var reader = new StreamReader(stream, Encoding.Latin1);
                while (await ReadRequestAsync(reader) is { } request)
                {
                    Requests.Enqueue(request);
                    if (await _answer(request, stream) is not { } answer)
                    {
                        return;
                    }

                    await stream.WriteAsync(Encoding.UTF8.GetBytes(answer));
                }
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException)
            {
                // The client left.
            }
        }
    }

    private static async Task<SslStream> SecureAsync(Stream stream, X509Certificate2 certificate)
    {
        var secure = new SslStream(stream);
        await secure.AuthenticateAsServerAsync(certificate);
        return secure;
    }

    private static async Task<Received?> ReadRequestAsync(StreamReader reader)
    {
        if (await reader.ReadLineAsync() is not { } requestLine)
        {
            return null;
        }

        var headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        while (await reader.ReadLineAsync() is { Length: > 0 } line)
        {
            var (name, value) = (line[..line.IndexOf(':')], line[(line.IndexOf(':') + 1)..]);
            headers.Add(name, value.Trim());
        }

        var body = new char[int.Parse(headers.GetValueOrDefault("Content-Length", "0"), CultureInfo.InvariantCulture)];
        if (body.Length > 0)
        {
            await reader.ReadBlockAsync(body);
        }

        var text = Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(body));
        return new Received(requestLine.Split(' ')[1], headers, text);
    }
}
