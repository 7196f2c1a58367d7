import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.stream.JsonReader;
import example.leads.Acknowledgement;
import example.leads.CallOptions;
import example.leads.InvalidLeadException;
import example.leads.KeyCheck;
import example.leads.Lead;
import example.leads.LeadsClient;
import example.leads.LeadsException;
import example.leads.Timing;
import example.leads.Vocabulary;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Does what each line asks for, and tells what happened. The README of the suite has the words. */
final class Driver {

  private static final Gson GSON =
      new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private static final int NESTING_MAX = 10_000;

  private final Map<String, LeadsClient> clients = new ConcurrentHashMap<>();
  private final ThreadLocal<CallTiming> timingOfThisThread = new ThreadLocal<>();
  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  public static void main(String[] args) throws Exception {
    new Driver().run();
  }

  private void run() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonObject asked = JsonParser.parseString(line).getAsJsonObject();
      threads.execute(() -> answer(asked));
    }
    threads.shutdown();
    threads.awaitTermination(1, TimeUnit.HOURS);
  }

  private void answer(JsonObject asked) {
    CallTiming timing = new CallTiming(asked, Thread.currentThread());
    timingOfThisThread.set(timing);
    JsonObject answer = new JsonObject();
    answer.add("id", asked.get("id"));
    StringWriter text = new StringWriter();
    try {
      answer.add("result", call(asked, new PrintWriter(text, true)));
    } catch (LeadsException e) {
      answer.add("error", error(e));
      e.printStackTrace(new PrintWriter(text, true));
      text.append(e.getMessage()).append('\n').append(e.toString());
    } catch (Exception e) {
      answer.addProperty("crash", e.toString());
      e.printStackTrace();
    }
    // An interrupt of this call is not one of the next.
    Thread.interrupted();
    JsonArray waits = new JsonArray();
    timing.waits.forEach(wait -> waits.add(wait.toNanos() / 1e6));
    answer.add("waits_ms", waits);
    answer.addProperty("text", text.toString());
    synchronized (out) {
      out.println(GSON.toJson(answer));
      out.flush();
    }
  }

  private JsonObject call(JsonObject asked, PrintWriter text) throws Exception {
    if (string(asked, "call").equals("idempotency_key")) {
      String key = LeadsClient.idempotencyKey(string(asked, "namespace"), string(asked, "item"));
      text.println(key);
      JsonObject result = new JsonObject();
      result.addProperty("idempotency_key", key);
      return result;
    }
    LeadsClient client = client(asked);
    text.println(client);
    CallOptions options = options(asked);
    text.println(options);
    switch (string(asked, "call")) {
      case "check_key":
        KeyCheck check = client.checkKey(options);
        text.println(check);
        return result(check);
      case "post_lead":
        Lead lead = lead(string(asked, "lead_json"));
        text.println(lead + " " + lead.toBuilder());
        Acknowledgement ack = client.postLead(lead, string(asked, "idempotency_key"), options);
        text.println(ack);
        return result(ack);
      case "vocabulary":
        Vocabulary vocabulary = client.vocabulary(options);
        text.println(vocabulary);
        return result(vocabulary);
      default:
        throw new IllegalArgumentException("No such call");
    }
  }

  private LeadsClient client(JsonObject asked) throws Exception {
    String name = string(asked, "client");
    LeadsClient known = name == null ? null : clients.get(name);
    if (known != null) {
      return known;
    }
    LeadsClient.Builder builder =
        LeadsClient.builder()
            .apiKey(string(asked, "key"))
            .baseUrl(string(asked, "base_url"))
            .timing(timingOfThisThread::get);
    JsonObject options = object(asked, "options");
    if (has(options, "tries")) {
      builder.tries(options.get("tries").getAsInt());
    }
    if (has(options, "try_timeout_ms")) {
      builder.tryTimeout(Duration.ofMillis(options.get("try_timeout_ms").getAsLong()));
    }
    if (has(asked, "ca_file")) {
      builder.sslContext(trusting(string(asked, "ca_file")));
    }
    LeadsClient made = builder.build();
    LeadsClient first = name == null ? null : clients.putIfAbsent(name, made);
    return first == null ? made : first;
  }

  private static CallOptions options(JsonObject asked) {
    CallOptions.Builder builder = CallOptions.builder();
    if (has(asked, "request_id")) {
      builder.requestId(string(asked, "request_id"));
    }
    JsonObject options = object(asked, "options");
    if (has(options, "deadline_ms")) {
      builder.deadline(Duration.ofMillis(options.get("deadline_ms").getAsLong()));
    }
    return builder.build();
  }

  private static Lead lead(String json) throws Exception {
    JsonReader reader = new JsonReader(new StringReader(json));
    reader.setNestingLimit(NESTING_MAX);
    Lead.Builder lead = Lead.builder();
    JsonParser.parseReader(reader)
        .getAsJsonObject()
        .entrySet()
        .forEach(member -> set(lead, member.getKey(), plain(member.getValue())));
    return lead.build();
  }

  private static void set(Lead.Builder lead, String name, Object value) {
    if (value instanceof String) {
      String text = (String) value;
      switch (name) {
        case "first_name":
          lead.firstName(text);
          return;
        case "last_name":
          lead.lastName(text);
          return;
        case "phone":
          lead.phone(text);
          return;
        case "email":
          lead.email(text);
          return;
        case "street_address":
          lead.streetAddress(text);
          return;
        case "city":
          lead.city(text);
          return;
        case "state":
          lead.state(text);
          return;
        case "zip":
          lead.zip(text);
          return;
        case "country":
          lead.country(text);
          return;
        case "project_area":
          lead.projectArea(text);
          return;
        case "project_service":
          lead.projectService(text);
          return;
        case "project_material":
          lead.projectMaterial(text);
          return;
        case "project_details":
          lead.projectDetails(text);
          return;
        case "external_id":
          lead.externalId(text);
          return;
        default:
          break;
      }
    }
    if (name.equals("cost") && value instanceof Number) {
      lead.cost(new BigDecimal(value.toString()));
    } else {
      lead.set(name, value);
    }
  }

  private static Object plain(JsonElement value) {
    if (value.isJsonNull()) {
      return null;
    }
    if (value.isJsonArray()) {
      List<Object> items = new ArrayList<>();
      value.getAsJsonArray().forEach(item -> items.add(plain(item)));
      return items;
    }
    if (value.isJsonObject()) {
      Map<String, Object> members = new LinkedHashMap<>();
      value.getAsJsonObject().entrySet().forEach(m -> members.put(m.getKey(), plain(m.getValue())));
      return members;
    }
    if (value.getAsJsonPrimitive().isBoolean()) {
      return value.getAsBoolean();
    }
    return value.getAsJsonPrimitive().isNumber() ? value.getAsNumber() : value.getAsString();
  }

  /** The platform's authorities and those in a file. */
  private static SSLContext trusting(String file) throws Exception {
    KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
    authorities.load(null, null);
    TrustManagerFactory platform =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    platform.init((KeyStore) null);
    int count = 0;
    for (TrustManager manager : platform.getTrustManagers()) {
      for (Certificate authority : ((X509TrustManager) manager).getAcceptedIssuers()) {
        authorities.setCertificateEntry("platform-" + count++, authority);
      }
    }
    try (InputStream pem = new FileInputStream(file)) {
      for (Certificate authority :
          CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        authorities.setCertificateEntry("given-" + count++, authority);
      }
    }
    TrustManagerFactory both =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    both.init(authorities);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, both.getTrustManagers(), null);
    return context;
  }

  private static JsonObject result(KeyCheck check) {
    JsonObject result = new JsonObject();
    result.addProperty("verdict", check.verdict().name().toLowerCase(Locale.ROOT));
    result.addProperty("request_id", check.requestId());
    result.addProperty("tries", check.tries());
    return result;
  }

  private static JsonObject result(Acknowledgement ack) {
    JsonObject result = new JsonObject();
    result.addProperty("event_id", ack.eventId());
    result.addProperty("status", ack.status().name().toLowerCase(Locale.ROOT));
    result.addProperty("received_at", ack.receivedAt());
    result.addProperty("source", ack.source());
    result.add("flags", GSON.toJsonTree(ack.flags()));
    result.addProperty("request_id", ack.requestId());
    result.addProperty("tries", ack.tries());
    return result;
  }

  private static JsonObject result(Vocabulary vocabulary) {
    JsonArray areas = new JsonArray();
    for (Vocabulary.Area area : vocabulary.areas()) {
      JsonObject one = new JsonObject();
      one.addProperty("area", area.area());
      one.addProperty("status", area.status());
      areas.add(one);
    }
    JsonObject result = new JsonObject();
    result.add("areas", areas);
    result.add("services", GSON.toJsonTree(vocabulary.services()));
    result.add("required", GSON.toJsonTree(vocabulary.required()));
    return result;
  }

  private static JsonObject error(LeadsException e) {
    JsonObject error = new JsonObject();
    error.addProperty("kind", e.kind().name().toLowerCase(Locale.ROOT));
    error.addProperty("status", e.status().isPresent() ? e.status().getAsInt() : null);
    error.addProperty("code", e.code().orElse(null));
    error.addProperty("detail", e.detail().orElse(null));
    error.addProperty("request_id", e.requestId().orElse(null));
    error.addProperty("tries", e.tries());
    error.addProperty("unknown_outcome", e.unknownOutcome());
    if (e instanceof InvalidLeadException) {
      error.add("fields", GSON.toJsonTree(((InvalidLeadException) e).fields()));
    }
    return error;
  }

  private static boolean has(JsonObject object, String name) {
    return object.has(name) && !object.get(name).isJsonNull();
  }

  private static String string(JsonObject object, String name) {
    return has(object, name) ? object.get(name).getAsString() : null;
  }

  private static JsonObject object(JsonObject object, String name) {
    return has(object, name) ? object.getAsJsonObject(name) : new JsonObject();
  }

  /** The clock, sleep and randomness of one line. */
  private static final class CallTiming implements Timing {
    private final Timing real = Timing.system();
    private final List<Duration> waits = new ArrayList<>();
    private final Thread caller;
    private final boolean realTime;
    private final Double random;
    private final int cancelAfterWaits;
    private volatile Duration notSlept = Duration.ZERO;

    CallTiming(JsonObject asked, Thread caller) {
      this.caller = caller;
      realTime = has(asked, "real_time") && asked.get("real_time").getAsBoolean();
      random = has(asked, "random") ? asked.get("random").getAsDouble() : null;
      cancelAfterWaits =
          has(asked, "cancel_after_waits") ? asked.get("cancel_after_waits").getAsInt() : 0;
    }

    @Override
    public Instant now() {
      return real.now().plus(notSlept);
    }

    @Override
    public CompletableFuture<Void> sleep(Duration wait) {
      waits.add(wait);
      if (waits.size() == cancelAfterWaits) {
        caller.interrupt();
        return new CompletableFuture<>();
      }
      if (realTime) {
        return real.sleep(wait);
      }
      notSlept = notSlept.plus(wait);
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public double random() {
      return random == null ? real.random() : random;
    }
  }
}
