package example.leads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LeadTest {

  private static String json(Lead.Builder lead) {
    return new String(lead.build().toJson(), StandardCharsets.UTF_8);
  }

  private static String json(Object value) {
    String object = json(Lead.builder().set("x", value));
    return object.substring("{\"x\":".length(), object.length() - 1);
  }

  @Test
  void everyKnownFieldHasItsNameOnTheWire() {
    Lead.Builder lead =
        Lead.builder()
            .firstName("1")
            .lastName("2")
            .phone("3")
            .email("4")
            .streetAddress("5")
            .city("6")
            .state("7")
            .zip("8")
            .country("9")
            .projectArea("10")
            .projectService("11")
            .projectMaterial("12")
            .projectDetails("13")
            .externalId("14")
            .cost(new BigDecimal("15.00"));
    assertEquals(
        "{\"first_name\":\"1\",\"last_name\":\"2\",\"phone\":\"3\",\"email\":\"4\","
            + "\"street_address\":\"5\",\"city\":\"6\",\"state\":\"7\",\"zip\":\"8\","
            + "\"country\":\"9\",\"project_area\":\"10\",\"project_service\":\"11\","
            + "\"project_material\":\"12\",\"project_details\":\"13\",\"external_id\":\"14\","
            + "\"cost\":15.00}",
        json(lead));
  }

  @Test
  void numbersKeepTheirDigits() {
    assertEquals("12345678901234567890", json(new BigInteger("12345678901234567890")));
    assertEquals("0.30000000000000004", json(0.1 + 0.2));
    assertEquals("0.00000010", json(new BigDecimal("0.00000010")));
    assertEquals("1E+400", json(new BigDecimal("1e400")));
    assertEquals("-7", json((short) -7));
    assertEquals("9007199254740993", json(9007199254740993L));
  }

  @Test
  void aNumberThatChangesIsReadOnce() {
    AtomicLong counter = new AtomicLong(1);
    Lead lead = Lead.builder().set("x", counter).build();
    counter.set(2);
    assertEquals("{\"x\":1}", new String(lead.toJson(), StandardCharsets.UTF_8));
  }

  @Test
  void textIsSentAsItIs() {
    assertEquals("\"<a href='x'>& é 漢 😀\"", json("<a href='x'>& é 漢 😀"));
    assertEquals("\"\\u0000\\u001f\\\"\\\\\\n\"", json("\0\u001f\"\\\n"));
    assertEquals("\"\\ud800x\\udc00\"", json("\ud800x\udc00"));
    assertEquals("{\"\\ud800\":\"😀\"}", json(Lead.builder().set("\ud800", "😀")));
  }

  @Test
  void nullLeavesAKnownFieldOutAndIsSentForAnyOther() {
    assertEquals("{}", json(Lead.builder().email("a").email(null).cost(null)));
    assertEquals("{\"campaign\":null}", json(Lead.builder().set("campaign", null)));
  }

  @Test
  void listsAndMapsAreCopied() {
    List<Object> list = new ArrayList<>(List.of(true, "a"));
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("b", list);
    Lead lead = Lead.builder().setAll(Map.of("x", map)).set("y", new Object[] {1}).build();
    list.clear();
    map.clear();
    assertEquals(
        "{\"x\":{\"b\":[true,\"a\"]},\"y\":[1]}",
        new String(lead.toJson(), StandardCharsets.UTF_8));
    assertThrows(UnsupportedOperationException.class, () -> lead.fields().clear());
  }

  @Test
  void whatJsonCannotHoldIsRefused() {
    List<Object> itself = new ArrayList<>();
    itself.add(itself);
    for (Object value :
        new Object[] {
          Double.NaN, Float.NEGATIVE_INFINITY, new Object(), Map.of(1, 2), itself, deep(500)
        }) {
      assertThrows(MisconfiguredException.class, () -> Lead.builder().set("x", value));
    }
    json(deep(499));
    assertThrows(MisconfiguredException.class, () -> Lead.builder().set(null, 1));
  }

  private static Object deep(int levels) {
    Object value = "bottom";
    for (int i = 0; i < levels; i++) {
      value = Collections.singletonList(value);
    }
    return value;
  }

  @Test
  void leadsWithTheSameFieldsAreEqual() {
    Lead lead = Lead.builder().phone("1").build();
    assertEquals(lead, lead.toBuilder().build());
    assertEquals(lead.hashCode(), lead.toBuilder().build().hashCode());
    assertNotEquals(lead, lead.toBuilder().phone("2").build());
  }
}
