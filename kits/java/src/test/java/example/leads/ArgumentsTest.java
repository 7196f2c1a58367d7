package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ArgumentsTest {

  private static LeadsClient client(Map<String, String> environment) {
    return LeadsClient.builder().environment(environment::get).build();
  }

  @Test
  void keyAndAddressComeFromTheEnvironmentUnlessTheyAreGiven() {
    Map<String, String> environment =
        Map.of("LEADS_API_KEY", IntakeServer.KEY, "LEADS_BASE_URL", "https://env.example");
    assertEquals("LeadsClient[https://env.example, test key]", client(environment).toString());
    assertEquals(
        "LeadsClient[https://given.example, live key]",
        LeadsClient.builder()
            .environment(environment::get)
            .apiKey("lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN")
            .baseUrl("https://given.example")
            .build()
            .toString());
  }

  @Test
  void whatIsMissingIsNamed() {
    String message =
        assertThrows(MisconfiguredException.class, () -> client(Map.of())).getMessage();
    assertTrue(message.contains("LEADS_API_KEY"), message);
    message =
        assertThrows(
                MisconfiguredException.class,
                () -> client(Map.of("LEADS_API_KEY", IntakeServer.KEY)))
            .getMessage();
    assertTrue(message.contains("LEADS_BASE_URL"), message);
  }

  @ParameterizedTest
  @CsvSource({
    "form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS, forms key",
    "form_live_x, forms key",
    "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2h, mistyped or cut off",
    "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2, mistyped or cut off",
    "lead_live_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H, mistyped or cut off",
    "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2é, mistyped or cut off",
    "hello, no key for leads",
  })
  void aKeyThatCannotBeRightIsRefused(String key, String why) {
    String message =
        assertThrows(
                MisconfiguredException.class,
                () -> LeadsClient.builder().apiKey(key).baseUrl("https://a.example").build())
            .getMessage();
    assertTrue(message.contains(why), message);
    assertFalse(message.contains(key), message);
  }

  @ParameterizedTest
  @CsvSource({
    "https://a.example, https://a.example/v1/intake",
    "HTTPS://a.example/leads/, https://a.example/leads/v1/intake",
    "https://a.example:8443/a%20b, https://a.example:8443/a%20b/v1/intake",
    "http://127.9.255.0:80, http://127.9.255.0:80/v1/intake",
    "http://[::1]:9000/, http://[::1]:9000/v1/intake",
    "http://LocalHost, http://LocalHost/v1/intake",
  })
  void anAddressKeepsItsPath(String address, String intake) {
    assertEquals(intake, BaseUrl.of(address).resolve("/v1/intake").toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://a.example",
        "http://127.0.0.1.example",
        "http://127.1",
        "http://0127.0.0.1",
        "http://localhost.",
        "http://[::2]",
        "ftp://a.example",
        "https://",
        "https:a.example",
        "a.example",
        "https://a.example?",
        "https://a.example#",
        "https://@a.example",
        "https://a.example:0",
        "https://a.example:65536",
        "https://a b.example",
        " https://a.example",
      })
  void anAddressThatCannotBeRightIsRefused(String address) {
    assertThrows(MisconfiguredException.class, () -> BaseUrl.of(address));
  }

  @Test
  void anIdempotencyKeyIsANamespaceAndAnId() {
    assertEquals("acme:1", LeadsClient.idempotencyKey("acme", "1"));
    assertThrows(MisconfiguredException.class, () -> LeadsClient.idempotencyKey(" ", "1"));
    assertThrows(MisconfiguredException.class, () -> LeadsClient.idempotencyKey("acme", null));
    assertThrows(MisconfiguredException.class, () -> LeadsClient.idempotencyKey("acme", "é"));
    assertThrows(
        MisconfiguredException.class, () -> LeadsClient.idempotencyKey("acme", "x".repeat(196)));
  }

  @ParameterizedTest
  @ValueSource(strings = {" a:1", "a:1 ", " "})
  void whatAHeaderWouldTrimIsRefused(String value) {
    LeadsClient client =
        LeadsClient.builder().apiKey(IntakeServer.KEY).baseUrl("https://a.example").build();
    Lead lead = Lead.builder().firstName("Ada").build();
    assertThrows(MisconfiguredException.class, () -> client.postLead(lead, value));
    assertThrows(MisconfiguredException.class, () -> CallOptions.builder().requestId(value));
  }

  @Test
  void blanksWithinAnIdempotencyKeyStay() {
    assertEquals("acme : 1 2", LeadsClient.idempotencyKey("acme ", " 1 2"));
    assertThrows(MisconfiguredException.class, () -> LeadsClient.idempotencyKey(" acme", "1"));
    assertThrows(MisconfiguredException.class, () -> LeadsClient.idempotencyKey("acme", "1 "));
  }

  @Test
  void boundsAreBounded() {
    LeadsClient.Builder client = LeadsClient.builder();
    assertThrows(MisconfiguredException.class, () -> client.tries(0));
    assertThrows(MisconfiguredException.class, () -> client.deadline(Duration.ZERO));
    assertThrows(MisconfiguredException.class, () -> client.tryTimeout(Duration.ofNanos(-1)));
    assertThrows(MisconfiguredException.class, () -> client.deadline(Duration.ofDays(366)));
    assertThrows(MisconfiguredException.class, () -> client.deadline(null));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "7, 7000",
    "'Fri, 02 Jan 2026 03:04:15 GMT', 10000",
    "'Friday, 02-Jan-26 03:04:15 GMT', 10000",
    "'Fri Jan  2 03:04:15 2026', 10000",
    "'Fri, 02 Jan 2026 03:04:04 GMT', 0",
    "'Sunday, 06-Nov-94 08:49:37 GMT', 0",
  })
  void retryAfterIsSecondsOrADate(String value, double millis) {
    assertEquals(OptionalDouble.of(millis), RetryAfter.millis(value, now()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "+1", "1.5", "1 2", "soon", "Fri, 31 Feb 2026 03:04:15 GMT"})
  void anythingElseInRetryAfterIsUnreadable(String value) {
    assertEquals(OptionalDouble.empty(), RetryAfter.millis(value, now()));
  }

  @Test
  void moreDigitsThanAnybodyWaitsArePastAnyDeadline() {
    assertTrue(RetryAfter.millis("9".repeat(400), now()).getAsDouble() > 1e300);
  }

  private static Instant now() {
    return new FakeTiming().now();
  }

  @Test
  void theVersionIsThatOfTheManifest() throws Exception {
    String pom = Files.readString(Path.of("pom.xml"));
    assertTrue(
        pom.contains(
            "<artifactId>leads-java</artifactId>\n  <version>" + LeadsClient.VERSION + "<"));
  }

  @Test
  void theReadmeShowsTheExample() throws Exception {
    String example = Files.readString(Path.of("examples", "TenLines.java"));
    assertTrue(Files.readString(Path.of("README.md")).contains("```java\n" + example + "```"));
  }
}
