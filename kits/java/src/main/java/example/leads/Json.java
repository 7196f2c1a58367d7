package example.leads;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
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

  /** Numbers that nobody can change, and whose text is one for JSON, too. */
  private static final Set<Class<?>> WHOLE_OR_DECIMAL =
      Set.of(
          Byte.class,
          Short.class,
          Integer.class,
          Long.class,
          BigInteger.class,
          BigDecimal.class,
          Digits.class);

  /** What a lead takes, usually. */
  private static final int TEXT_CHARS = 512;

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
    if (WHOLE_OR_DECIMAL.contains(number.getClass())) {
      return number;
    }
    String digits = number.toString();
    if (!NUMBER.matcher(digits).matches()) {
      throw new MisconfiguredException(
          "This " + number.getClass().getName() + " is no number that JSON can hold");
    }
    return new Digits(digits);
  }

  static byte[] write(Map<String, Object> object) {
    StringBuilder text = new StringBuilder(TEXT_CHARS);
    writeValue(text, object);
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void writeValue(StringBuilder text, Object value) {
    if (value instanceof String) {
      writeString(text, (String) value);
    } else if (value instanceof Map) {
      char before = '{';
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        text.append(before);
        writeString(text, (String) member.getKey());
        text.append(':');
        writeValue(text, member.getValue());
        before = ',';
      }
      text.append(before == '{' ? "{}" : "}");
    } else if (value instanceof List) {
      char before = '[';
      for (Object item : (List<?>) value) {
        text.append(before);
        writeValue(text, item);
        before = ',';
      }
      text.append(before == '[' ? "[]" : "]");
    } else if (value instanceof Number) {
      text.append(digits((Number) value));
    } else {
      text.append(value);
    }
  }

  /**
   * Escapes what JSON does not take as it is, and halves of surrogate pairs: they have no UTF-8,
   * and would arrive as question marks.
   */
  private static void writeString(StringBuilder text, String value) {
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\').append(c);
      } else if (c < ' ') {
        appendEscaped(text, c);
      } else if (!Character.isSurrogate(c)) {
        text.append(c);
      } else if (i + 1 < value.length() && Character.isSurrogatePair(c, value.charAt(i + 1))) {
        text.append(c).append(value.charAt(++i));
      } else {
        appendEscaped(text, c);
      }
    }
    text.append('"');
  }

  private static void appendEscaped(StringBuilder text, char c) {
    text.append(c == '\n' ? "\\n" : String.format("\\u%04x", (int) c));
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
   * Reads a JSON object: strings, lists and maps as themselves, anything else as null.
   *
   * @return nothing if it is not one; why is not told, as the parser would quote the text
   */
  static Optional<Map<String, Object>> readObject(byte[] text) {
    try {
      // A decoder refuses what is not UTF-8, where a string would replace it.
      CharBuffer chars = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
      JsonReader reader = new JsonReader(new StringReader(chars.toString()));
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

  /** A number of another class, kept as its digits. */
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
