import com.google.gson.JsonParser;
import example.leads.Lead;
import example.leads.LeadsClient;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Locale;

/** What the kit costs: posts a second of the kit and of the bare client that it is built on. */
final class Bench {

  private static final String LEAD =
      "{\"first_name\":\"Ada\",\"last_name\":\"Lovelace\",\"phone\":\"+1 415 555 0100\","
          + "\"email\":\"ada@example.com\",\"city\":\"San Francisco\",\"cost\":12.50}";

  private final HttpClient bare =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final URI intake = URI.create(System.getenv("LEADS_BASE_URL") + "/v1/intake");
  private final LeadsClient kit = LeadsClient.fromEnvironment();
  private int sent;

  private interface Post {
    void run(String idempotencyKey) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    int posts = Integer.parseInt(args[0]);
    int rounds = Integer.parseInt(args[1]);
    Bench bench = new Bench();
    for (int round = 0; round <= rounds; round++) {
      boolean kitFirst = round % 2 == 0;
      double kit = kitFirst ? bench.measure(posts, bench::postWithKit) : 0;
      double bare = bench.measure(posts, bench::postBare);
      kit = kitFirst ? kit : bench.measure(posts, bench::postWithKit);
      if (round > 0) {
        System.out.printf(Locale.ROOT, "{\"kit\":%.1f,\"bare\":%.1f}%n", kit, bare);
      }
    }
  }

  private double measure(int posts, Post post) throws Exception {
    long start = System.nanoTime();
    for (int i = 0; i < posts; i++) {
      post.run("bench:" + sent++);
    }
    return posts / ((System.nanoTime() - start) / 1e9);
  }

  private void postWithKit(String idempotencyKey) {
    Lead lead =
        Lead.builder()
            .firstName("Ada")
            .lastName("Lovelace")
            .phone("+1 415 555 0100")
            .email("ada@example.com")
            .city("San Francisco")
            .cost(new BigDecimal("12.50"))
            .build();
    kit.postLead(lead, idempotencyKey);
  }

  private void postBare(String idempotencyKey) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(intake)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", idempotencyKey)
            .header("User-Agent", "leads-java/0.1.0")
            .header("X-API-Key", System.getenv("LEADS_API_KEY"))
            .header("X-Request-Id", "leads-java-0123456789abcdef")
            .POST(HttpRequest.BodyPublishers.ofString(LEAD))
            .build();
    HttpResponse<String> response = bare.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() / 100 != 2) {
      throw new IllegalStateException("The server answered " + response.statusCode());
    }
    JsonParser.parseString(response.body()).getAsJsonObject().get("event_id").getAsString();
  }
}
