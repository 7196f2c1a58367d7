package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretsTest {

  private static final String NAME = "Zaphodiana";
  private static final String PHONE = "+1 415 555 0199";
  private static final Lead LEAD = Lead.builder().firstName(NAME).phone(PHONE).build();

  private static void assertSilent(String text) {
    assertFalse(text.contains(IntakeServer.KEY.substring(10)), text);
    assertFalse(text.contains(NAME), text);
    assertFalse(text.contains(PHONE), text);
  }

  private static String everythingOf(Throwable e) {
    StringWriter text = new StringWriter();
    e.printStackTrace(new PrintWriter(text, true));
    return text + e.getMessage() + e;
  }

  @Test
  void noStringFormShowsKeyOrLead() {
    LeadsClient.Builder builder =
        LeadsClient.builder().apiKey(IntakeServer.KEY).baseUrl("https://leads.example/api/");
    assertEquals("LeadsClient.Builder", builder.toString());
    assertEquals("LeadsClient[https://leads.example/api, test key]", builder.build().toString());
    assertEquals("Lead[2 fields]", LEAD.toString());
    assertEquals("Lead.Builder[2 fields]", LEAD.toBuilder().toString());
  }

  /** Foreign answers that hold what was sent, in every place that somebody might quote. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "%s %s\r\n\r\n",
        "HTTP/1.1 %s %s\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: %s%s\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: https://x.example/%s?%s\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 503 %s\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n{\"error\":\"%s\",\"x\":\"%s\"}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n%s\r\n",
        "HTTP/1.1 422 No\r\nConnection: close\r\n\r\n"
            + "{\"error\":\"validation_failed\",\"fields\":{\"%s\":\"%s\"}}"
      })
  void noExceptionShowsWhatAForeignAnswerQuotes(String answer) throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(String.format(answer, IntakeServer.KEY, NAME + PHONE))) {
      LeadsClient client = server.client().timing(FakeTiming::new).tries(1).build();
      client.toString();
      CallOptions options = CallOptions.builder().deadline(java.time.Duration.ofSeconds(5)).build();
      LeadsException e =
          assertThrows(LeadsException.class, () -> client.postLead(LEAD, "acme:1", options));
      assertSilent(everythingOf(e));
      assertNull(e.getCause());
      assertEquals(0, e.getSuppressed().length);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "https://user:hunter2@leads.example",
        "https://leads.example?token=hunter2",
        "https://leads.example#hunter2",
        "http://hunter2.example",
        "hunter2 hunter2",
        "hunter2://x"
      })
  void noExceptionShowsAnAddressThatIsRefused(String address) {
    MisconfiguredException e =
        assertThrows(
            MisconfiguredException.class,
            () -> LeadsClient.builder().apiKey(IntakeServer.KEY).baseUrl(address).build());
    assertFalse(everythingOf(e).contains("hunter2"));
  }

  @Test
  void noExceptionShowsAnArgumentThatIsRefused() {
    Lead.Builder lead = Lead.builder();
    for (Object value : List.of(new StringBuilder(NAME).chars(), Double.NaN)) {
      MisconfiguredException e =
          assertThrows(MisconfiguredException.class, () -> lead.set("x", value));
      assertSilent(everythingOf(e));
    }
    MisconfiguredException e =
        assertThrows(
            MisconfiguredException.class, () -> CallOptions.builder().requestId(NAME + "\n"));
    assertSilent(everythingOf(e));
  }

  @Test
  void anExceptionCanBeSerialized() throws Exception {
    try (IntakeServer server =
        IntakeServer.answering(
            IntakeServer.answer(
                "422 No",
                "{\"error\":\"validation_failed\",\"fields\":{\"phone\":\"required\"}}"))) {
      InvalidLeadException e =
          assertThrows(
              InvalidLeadException.class, () -> server.client().build().postLead(LEAD, "acme:1"));
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      new ObjectOutputStream(bytes).writeObject(e);
      InvalidLeadException copy =
          (InvalidLeadException)
              new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
      assertEquals(e.fields(), copy.fields());
      assertEquals(e.requestId(), copy.requestId());
      assertTrue(copy.getMessage().startsWith("The lead has to be corrected: phone required"));
    }
  }
}
