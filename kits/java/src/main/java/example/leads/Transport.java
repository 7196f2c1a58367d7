package example.leads;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** The connections of one client. */
final class Transport {

  private static final List<String> TLS_VERSIONS = List.of("TLSv1.3", "TLSv1.2");

  /** Null for the platform's. */
  private final SSLContext sslContext;

  private volatile HttpClient client;

  Transport(SSLContext sslContext) {
    this.sslContext = sslContext;
  }

  /** Begins a try. Whatever happens, its answer comes, at the latest when the time is over. */
  Exchange start(Operation<?> operation, String requestId, Duration timeout) {
    Exchange exchange = new Exchange(operation.body);
    try {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(operation.uri)
              .method(operation.method, exchange.publisher())
              // Ends the wait for headers where cancelling does not (before Java 16).
              .timeout(timeout)
              .header("X-Request-Id", requestId);
      operation.headers.forEach(request::header);
      exchange.start(client(), request.build(), timeout);
    } catch (Exception e) {
      exchange.fail(e);
    }
    return exchange;
  }

  /**
   * Makes the client at the first call: it has a selector and its thread from the beginning.
   *
   * <p>HTTP/1.1 is chosen because a connection then carries one post at a time. With HTTP/2, a
   * connection that died silently takes along every call that is under way, and is still used for
   * the next try of each after it timed out.
   */
  private HttpClient client() throws NoSuchAlgorithmException {
    HttpClient made = client;
    if (made != null) {
      return made;
    }
    synchronized (this) {
      if (client == null) {
        SSLContext context = sslContext == null ? SSLContext.getDefault() : sslContext;
        client =
            HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .sslContext(context)
                .sslParameters(verifying(context))
                .build();
      }
      return client;
    }
  }

  /** Names the check of the host, which a system property would otherwise turn off. */
  private static SSLParameters verifying(SSLContext context) {
    SSLParameters parameters = context.getDefaultSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setProtocols(
        Stream.of(context.getSupportedSSLParameters().getProtocols())
            .filter(TLS_VERSIONS::contains)
            .toArray(String[]::new));
    return parameters;
  }
}
