package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {

  private static Optional<Map<String, Object>> read(String text) {
    return Json.readObject(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void readsStringsListsAndMaps() {
    assertEquals(
        Map.of("a", "é", "b", List.of("x"), "c", Map.of("d", "e")),
        read("{\"a\":\"\\u00e9\",\"b\":[\"x\"],\"c\":{\"d\":\"e\"}}").get());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "null",
        "\"x\"",
        "{",
        "{\"a\":1}x",
        "{\"a\":1}{}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":TRUE}",
        "{\"a\":\"\n\"}",
        ")]}'\n{}"
      })
  void whatIsNoJsonObjectIsNone(String text) {
    assertTrue(read(text).isEmpty());
  }

  @Test
  void whatIsNotUtf8IsNone() {
    assertTrue(Json.readObject(new byte[] {'{', '"', (byte) 0xff, '"', ':', '1', '}'}).isEmpty());
  }

  @Test
  void aMillionBracketsHarmNobody() {
    for (String open : List.of("[", "{\"a\":")) {
      read("{\"a\":" + open.repeat(1_000_000 / open.length()));
    }
  }
}
