using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Leads.Tests;

public class TlsTests
{
    private static readonly Lead Ada = new() { FirstName = "Ada", LastName = "Lovelace", Phone = "+1 415 555 0100" };

    [Fact]
    public async Task An_authority_of_the_callers_is_trusted_by_the_platforms_own_means_and_nothing_else_changes()
    {
        using var certificate = NewCertificate("localhost");
        using var server = new IntakeServer(_ => IntakeServer.Accepted(), certificate);
        using var trusting = new HttpClient(Trusting(certificate));
        using var client = new LeadsClient(trusting, server.Options());
        Assert.Equal(LeadStatus.Accepted, (await client.PostLeadAsync(Ada, "acme:1")).Status);

        using var stranger = server.NewClient(server.Options(tries: 1));
        var error = await Assert.ThrowsAsync<UnavailableException>(() => stranger.PostLeadAsync(Ada, "acme:2"));
        Assert.False(error.UnknownOutcome);
        Assert.IsType<System.Security.Authentication.AuthenticationException>(error.InnerException);
        Assert.Single(server.Requests);
    }

    [Fact]
    public async Task A_certificate_of_another_name_is_refused_even_when_its_authority_is_trusted()
    {
        using var certificate = NewCertificate("elsewhere.example");
        using var server = new IntakeServer(_ => IntakeServer.Accepted(), certificate);
        using var trusting = new HttpClient(Trusting(certificate));
        using var client = new LeadsClient(trusting, server.Options(tries: 1));

        await Assert.ThrowsAsync<UnavailableException>(() => client.PostLeadAsync(Ada, "acme:1"));
        Assert.Empty(server.Requests);
    }

    [Fact]
    public async Task Through_a_proxy_the_kit_knows_as_much_of_its_posts_as_without_one()
    {
        using var certificate = NewCertificate("localhost");
        var answers = new Queue<string?>([IntakeServer.Accepted(), IntakeServer.Accepted(), null]);
        using var server = new IntakeServer(_ => answers.Dequeue(), certificate);
        using var proxy = new TunnelProxy();
        var handler = Trusting(certificate);
        handler.Proxy = new WebProxy(proxy.Url);
        handler.UseProxy = true;
        using var http = new HttpClient(handler);
        using var client = new LeadsClient(http, server.Options(tries: 1));

        Assert.Equal(LeadStatus.Accepted, (await client.PostLeadAsync(Ada, "acme:1")).Status);
        Assert.Equal(LeadStatus.Accepted, (await client.PostLeadAsync(Ada, "acme:2")).Status);
        var error = await Assert.ThrowsAsync<UnavailableException>(() => client.PostLeadAsync(Ada, "acme:3"));

        Assert.True(error.UnknownOutcome);
        Assert.Equal([$"CONNECT localhost:{server.Port} HTTP/1.1"], proxy.Asked);

        proxy.Refuses = true;
        error = await Assert.ThrowsAsync<UnavailableException>(() => client.PostLeadAsync(Ada, "acme:4"));
        Assert.False(error.UnknownOutcome);
        Assert.Contains("proxy", error.Message);
        Assert.Equal(3, server.Requests.Count);
    }

    private static SocketsHttpHandler Trusting(X509Certificate2 authority)
    {
        var handler = LeadsClient.CreateHandler();
        handler.UseProxy = false;
        handler.SslOptions.CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            CustomTrustStore = { authority },
        };
        return handler;
    }

    private static X509Certificate2 NewCertificate(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        var now = DateTimeOffset.UtcNow;
        return request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
    }

    /// <summary>A proxy that opens tunnels, or refuses to.</summary>
    private sealed class TunnelProxy : IDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);

        public TunnelProxy()
        {
            _listener.Start();
            _ = AcceptAsync();
        }

        public List<string> Asked { get; } = [];

        public bool Refuses { get; set; }

        public string Url => $"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}";

        public void Dispose() => _listener.Dispose();

        private async Task AcceptAsync()
        {
            try
            {
                while (true)
                {
                    _ = TunnelAsync(await _listener.AcceptTcpClientAsync());
                }
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException)
            {
                // The listener was disposed.
            }
        }

        private async Task TunnelAsync(TcpClient client)
        {
            using var inner = client;
            using var outer = new TcpClient();
            try
            {
                var stream = inner.GetStream();
                var head = "";
                var buffer = new byte[1];
                while (!head.EndsWith("\r\n\r\n", StringComparison.Ordinal))
                {
                    await stream.ReadExactlyAsync(buffer);
                    head += (char)buffer[0];
                }

                if (Refuses)
                {
                    await stream.WriteAsync("HTTP/1.1 403 canary\r\nContent-Length: 0\r\n\r\n"u8.ToArray());
                    return;
                }

                Asked.Add(head.Split("\r\n")[0]);
                var port = head.Split(' ')[1].Split(':')[1];
                await outer.ConnectAsync("localhost", int.Parse(port, CultureInfo.InvariantCulture));
                await stream.WriteAsync(Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\r\n\r\n"));
                await Task.WhenAny(stream.CopyToAsync(outer.GetStream()), outer.GetStream().CopyToAsync(stream));
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException)
            {
                // One side left.
            }
        }
    }
}
