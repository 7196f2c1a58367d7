package example.leads;

import java.net.http.HttpHeaders;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** What came of one try. */
final class Answer {

  /** How much of an answer there is. */
  enum Extent {
    /** All of it. */
    WHOLE,
    /** Nothing, or a part of it that broke off. */
    NONE,
    /** A body that goes on past what is read. */
    TOO_LARGE,
    /** 101: the other side speaks something else from now on. */
    SWITCHED,
    /** Interim answers only, and too many of them. */
    TOO_MANY_INTERIM
  }

  private static final Pattern CODE = Pattern.compile("[a-z_]{1,64}");

  private static final HttpHeaders NO_HEADERS = HttpHeaders.of(Map.of(), (name, value) -> true);

  final Extent extent;

  /** Zero if there is none. */
  final int status;

  final HttpHeaders headers;

  /** For {@link Extent#NONE}: what happened, in words of ours. */
  final String failure;

  private final Optional<Map<String, Object>> object;

  private Answer(Extent extent, int status, HttpHeaders headers, byte[] body, String failure) {
    this.extent = extent;
    this.status = status;
    this.headers = headers;
    this.failure = failure;
    object = Json.readObject(body);
  }

  static Answer whole(int status, HttpHeaders headers, byte[] body) {
    return new Answer(Extent.WHOLE, status, headers, body, null);
  }

  static Answer none(String failure) {
    return new Answer(Extent.NONE, 0, NO_HEADERS, new byte[0], failure);
  }

  static Answer partial(Extent extent, int status) {
    return new Answer(extent, status, NO_HEADERS, new byte[0], null);
  }

  /** The body, if it is a JSON object. */
  Optional<Map<String, Object>> object() {
    return object;
  }

  /** The member of the object, if it is a string. */
  Optional<String> string(String name) {
    return object.map(o -> o.get(name)).filter(String.class::isInstance).map(String.class::cast);
  }

  /** The service's code; what merely looks similar may be anything, and is not passed on. */
  Optional<String> code() {
    return string("error").filter(code -> CODE.matcher(code).matches());
  }

  /** What an error of the service says is wrong. */
  Optional<String> detail() {
    return code().flatMap(code -> string("detail"));
  }

  boolean isSuccess() {
    return extent == Extent.WHOLE && status / 100 == 2;
  }
}
