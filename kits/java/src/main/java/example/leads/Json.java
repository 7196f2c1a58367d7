package example.leads;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Leads as JSON, and JSON as maps and lists. */
final class Json {

  /** Deep enough for any lead, and far from the end of a thread's stack. */
  private static final int WRITTEN_DEPTH_MAX = 500;

  /** An answer of ours is three deep. What is deeper is skipped, without recursion. */
  private static final int READ_DEPTH_MAX = 16;

  /** How many places after the point are still written out. */
  private static final int PLAIN_SCALE_MAX = 100;

  private static final Pattern NUMBER =
      Pattern.compile("-?(0|[1-9]\\d*+)(\\.\\d++)?([eE][-+]?\\d++)?");

  /** Numbers that nobody can change and whose text is what was given. */
  private static final Set<Class<?>> FIXED_NUMBERS =
      Set.of(
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          Float.class,
          Double.class,
          BigInteger.class,
          BigDecimal.class,
          Digits.class);

  private Json() {}

  /**
   * Copies what a lead may hold.
   *
   * @throws MisconfiguredException which names no more than the class of what cannot be written
   */
  static Object copy(Object value) {
    return copy(value, 1);
  }

  private static Object copy(Object value, int depth) {
    if (value == null || value instanceof Boolean) {
      return value;
    }
    if (value instanceof CharSequence || value instanceof Character) {
      return value.toString();
    }
    if (value instanceof Number) {
      return copyNumber((Number) value);
    }
    if (depth >= WRITTEN_DEPTH_MAX) {
      throw new MisconfiguredException(
          "A field is nested over " + WRITTEN_DEPTH_MAX + " deep, or holds itself");
    }
    if (value instanceof Map) {
      Map<String, Object> copy = new LinkedHashMap<>();
      ((Map<?, ?>) value)
          .forEach(
              (name, member) -> {
                if (!(name instanceof String)) {
                  throw new MisconfiguredException("The names in a map have to be strings");
                }
                copy.put((String) name, copy(member, depth + 1));
              });
      return Collections.unmodifiableMap(copy);
    }
    if (value instanceof Object[]) {
      return copy(Arrays.asList((Object[]) value), depth);
    }
    if (value instanceof Collection) {
      List<Object> copy = new ArrayList<>();
      ((Collection<?>) value).forEach(item -> copy.add(copy(item, depth + 1)));
      return Collections.unmodifiableList(copy);
    }
    throw new MisconfiguredException(
        "JSON has no place for a " + value.getClass().getName() + ": make it a string");
  }

  private static Number copyNumber(Number number) {
    String digits = number.toString();
    if (!NUMBER.matcher(digits).matches()) {
      throw new MisconfiguredException(
          "This " + number.getClass().getName() + " is no number that JSON can hold");
    }
    return FIXED_NUMBERS.contains(number.getClass()) ? number : new Digits(digits);
  }

  static byte[] write(Map<String, Object> object) {
    StringWriter text = new StringWriter();
    try (JsonWriter writer = new JsonWriter(text)) {
      writeValue(writer, object);
    } catch (IOException e) {
      throw new UncheckedIOException("A string cannot fail to be written", e);
    }
    String json = text.toString();
    boolean encodable = StandardCharsets.UTF_8.newEncoder().canEncode(json);
    return (encodable ? json : escapeLoneSurrogates(json)).getBytes(StandardCharsets.UTF_8);
  }

  private static void writeValue(JsonWriter writer, Object value) throws IOException {
    if (value instanceof Map) {
      writer.beginObject();
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        writer.name((String) member.getKey());
        writeValue(writer, member.getValue());
      }
      writer.endObject();
    } else if (value instanceof List) {
      writer.beginArray();
      for (Object item : (List<?>) value) {
        writeValue(writer, item);
      }
      writer.endArray();
    } else if (value instanceof String) {
      writer.value((String) value);
    } else if (value instanceof Boolean) {
      writer.value((Boolean) value);
    } else if (value == null) {
      writer.nullValue();
    } else {
      writer.jsonValue(digits((Number) value));
    }
  }

  /** As it was written: a decimal as small as 0.0000001 would otherwise get an exponent. */
  private static String digits(Number number) {
    if (number instanceof BigDecimal) {
      BigDecimal decimal = (BigDecimal) number;
      if (decimal.scale() > 0 && decimal.scale() <= PLAIN_SCALE_MAX) {
        return decimal.toPlainString();
      }
    }
    return number.toString();
  }

  /**
   * Escapes halves of surrogate pairs, which stand in strings only: they have no UTF-8, and would
   * arrive as question marks.
   */
  private static String escapeLoneSurrogates(String json) {
    StringBuilder escaped = new StringBuilder(json.length() + 16);
    json.codePoints()
        .forEach(
            c -> {
              if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
                escaped.append(String.format("\\u%04x", c));
              } else {
                escaped.appendCodePoint(c);
              }
            });
    return escaped.toString();
  }

  /**
   * Reads a JSON object: strings, lists and maps as themselves, anything else as null.
   *
   * @return nothing if it is not one; why is not told, as the parser would quote the text
   */
  static Optional<Map<String, Object>> readObject(byte[] text) {
    // A decoder made this way refuses what is not UTF-8, where a charset would replace it.
    try (JsonReader reader =
        new JsonReader(
            new InputStreamReader(
                new ByteArrayInputStream(text), StandardCharsets.UTF_8.newDecoder()))) {
      reader.setStrictness(Strictness.STRICT);
      if (reader.peek() != JsonToken.BEGIN_OBJECT) {
        return Optional.empty();
      }
      Map<String, Object> object = readMembers(reader, 1);
      return reader.peek() == JsonToken.END_DOCUMENT ? Optional.of(object) : Optional.empty();
    } catch (IOException | IllegalStateException | NumberFormatException e) {
      return Optional.empty();
    }
  }

  private static Map<String, Object> readMembers(JsonReader reader, int depth) throws IOException {
    Map<String, Object> members = new LinkedHashMap<>();
    reader.beginObject();
    while (reader.hasNext()) {
      members.put(reader.nextName(), readValue(reader, depth + 1));
    }
    reader.endObject();
    return members;
  }

  private static Object readValue(JsonReader reader, int depth) throws IOException {
    JsonToken token = reader.peek();
    if (token == JsonToken.STRING) {
      return reader.nextString();
    }
    if (token == JsonToken.BEGIN_OBJECT && depth <= READ_DEPTH_MAX) {
      return readMembers(reader, depth);
    }
    if (token == JsonToken.BEGIN_ARRAY && depth <= READ_DEPTH_MAX) {
      List<Object> items = new ArrayList<>();
      reader.beginArray();
      while (reader.hasNext()) {
        items.add(readValue(reader, depth + 1));
      }
      reader.endArray();
      return items;
    }
    reader.skipValue();
    return null;
  }

  /** The list, if it is one and holds strings only. */
  static Optional<List<String>> strings(Object value) {
    if (!(value instanceof List)) {
      return Optional.empty();
    }
    List<String> strings = new ArrayList<>();
    for (Object item : (List<?>) value) {
      if (!(item instanceof String)) {
        return Optional.empty();
      }
      strings.add((String) item);
    }
    return Optional.of(strings);
  }

  /** A number of some class that is not ours to know, kept as its digits. */
  private static final class Digits extends Number {
    private static final long serialVersionUID = 1;

    private final String digits;

    Digits(String digits) {
      this.digits = digits;
    }

    @Override
    public int intValue() {
      return new BigDecimal(digits).intValue();
    }

    @Override
    public long longValue() {
      return new BigDecimal(digits).longValue();
    }

    @Override
    public float floatValue() {
      return Float.parseFloat(digits);
    }

    @Override
    public double doubleValue() {
      return Double.parseDouble(digits);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Digits && digits.equals(((Digits) other).digits);
    }

    @Override
    public int hashCode() {
      return digits.hashCode();
    }

    @Override
    public String toString() {
      return digits;
    }
  }
}
