package example.leads;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** A server on a real socket that answers what a test says, and keeps what came in. */
final class IntakeServer implements AutoCloseable {

  static final String KEY = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";

  /** How long a test waits for what has to happen: only a broken kit waits so long. */
  static final long PATIENCE_SECONDS = 120;

  /** No answer: the connection stays open until the client closes it. */
  static final String SILENCE = null;

  /** No answer: the connection is closed. */
  static final String CLOSE = "";

  static final class Request {
    final int number;
    final String line;
    final Map<String, String> headers;
    final String body;

    Request(int number, String line, Map<String, String> headers, String body) {
      this.number = number;
      this.line = line;
      this.headers = headers;
      this.body = body;
    }
  }

  final List<Request> requests = new CopyOnWriteArrayList<>();
  final AtomicInteger connections = new AtomicInteger();
  final CountDownLatch asked = new CountDownLatch(1);
  final CountDownLatch closedByClient = new CountDownLatch(1);

  private final Function<Request, String> answers;
  private final ServerSocket socket;
  private final Set<Socket> open = Collections.newSetFromMap(new ConcurrentHashMap<>());
  private final AtomicInteger numbers = new AtomicInteger();

  IntakeServer(Function<Request, String> answers) throws IOException {
    this.answers = answers;
    socket = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    daemon(this::accept);
  }

  /** Answers one after the other, the last one for ever. */
  static IntakeServer answering(String... answers) throws IOException {
    return new IntakeServer(r -> answers[Math.min(r.number, answers.length - 1)]);
  }

  static String answer(String status, String body, String... headers) {
    StringBuilder text = new StringBuilder("HTTP/1.1 " + status + "\r\n");
    for (String header : headers) {
      text.append(header).append("\r\n");
    }
    int length = body.getBytes(StandardCharsets.UTF_8).length;
    return text.append("Content-Length: " + length + "\r\n\r\n").append(body).toString();
  }

  static String accepted(String eventId) {
    return answer(
        "202 Accepted",
        "{\"event_id\":\""
            + eventId
            + "\",\"status\":\"accepted\",\"received_at\":\"2026-01-02T03:04:05Z\","
            + "\"source\":\"acme\",\"flags\":[\"phone_unnormalized\"]}");
  }

  static String unavailable() {
    return answer("503 Service Unavailable", "{\"error\":\"not_accepting\"}");
  }

  String url() {
    return "http://127.0.0.1:" + socket.getLocalPort();
  }

  LeadsClient.Builder client() {
    return LeadsClient.builder().apiKey(KEY).baseUrl(url());
  }

  static void await(CountDownLatch latch) throws InterruptedException {
    if (!latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("It never happened");
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
    for (Socket connection : open) {
      connection.close();
    }
  }

  private void accept() {
    try {
      while (true) {
        Socket connection = socket.accept();
        connections.incrementAndGet();
        open.add(connection);
        daemon(() -> serve(connection));
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  private void serve(Socket connection) {
    try (connection) {
      InputStream in = new BufferedInputStream(connection.getInputStream());
      for (Request request = read(in); request != null; request = read(in)) {
        requests.add(request);
        asked.countDown();
        String answer = answers.apply(request);
        if (answer != null) {
          connection.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
          if (answer.isEmpty() || answer.contains("Connection: close")) {
            return;
          }
        }
      }
    } catch (IOException e) {
      // The client closed in the middle, which some tests want.
    } finally {
      open.remove(connection);
      closedByClient.countDown();
    }
  }

  private Request read(InputStream in) throws IOException {
    String line = readLine(in);
    if (line.isEmpty()) {
      return null;
    }
    Map<String, String> headers = new TreeMap<>();
    for (String header = readLine(in); !header.isEmpty(); header = readLine(in)) {
      String[] parts = header.split(": ", 2);
      headers.put(parts[0].toLowerCase(Locale.ROOT), parts[1]);
    }
    int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
    String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    return new Request(numbers.getAndIncrement(), line, headers, body);
  }

  private static String readLine(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int b = in.read(); b >= 0 && b != '\n'; b = in.read()) {
      line.write(b);
    }
    return line.toString(StandardCharsets.UTF_8).strip();
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task, "intake-server");
    thread.setDaemon(true);
    thread.start();
  }
}
