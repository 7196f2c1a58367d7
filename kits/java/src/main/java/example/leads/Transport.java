package example.leads;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** The connections of one client. */
final class Transport {

  private static final List<String> TLS_VERSIONS = List.of("TLSv1.3", "TLSv1.2");

  /** Before Java 16, a request that is given up goes on until it has a time-out of its own. */
  private static final boolean CANCELLING_CLOSES = Runtime.version().feature() >= 16;

  /** Null for the platform's. */
  private final SSLContext sslContext;

  private final boolean encrypted;

  /** Its threads are daemons, and end when they have had nothing to do for a minute. */
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, LeadsClient.NAME);
            thread.setDaemon(true);
            return thread;
          });

  private volatile HttpClient client;

  Transport(SSLContext sslContext, boolean encrypted) {
    this.sslContext = sslContext;
    this.encrypted = encrypted;
  }

  /** Begins a try for a caller that will wait for it, and bound it. */
  Exchange send(Operation<?> operation, String requestId, Duration timeout) {
    Exchange exchange = new Exchange(operation.body);
    try {
      HttpRequest request = request(operation, requestId, exchange, timeout);
      exchange.send(client(), request, threads);
    } catch (Exception e) {
      exchange.fail(e);
    }
    return exchange;
  }

  /** Where the steps of a call run for which nobody waits: soon, whatever else the program does. */
  Executor threads() {
    return threads;
  }

  /** Begins a try that ends by itself when the time is over. */
  Exchange sendAsync(Operation<?> operation, String requestId, Duration timeout) {
    Exchange exchange = new Exchange(operation.body);
    try {
      HttpRequest request = request(operation, requestId, exchange, timeout);
      exchange.sendAsync(client(), request, timeout, threads);
    } catch (Exception e) {
      exchange.fail(e);
    }
    return exchange;
  }

  private static HttpRequest request(
      Operation<?> operation, String requestId, Exchange exchange, Duration timeout) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(operation.uri)
            .method(operation.method, exchange.publisher())
            .header("X-Request-Id", requestId);
    operation.headers.forEach(request::header);
    if (!CANCELLING_CLOSES) {
      request.timeout(timeout);
    }
    return request.build();
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
        HttpClient.Builder builder = HttpClient.newBuilder();
        if (!encrypted) {
          // It goes to this machine. By a proxy, key and lead would leave it in clear text.
          builder.proxy(HttpClient.Builder.NO_PROXY);
        }
        client =
            builder
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .sslContext(context)
                .sslParameters(verifying(context))
                .executor(threads)
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
