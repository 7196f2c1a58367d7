package example.leads;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** What a call sends, and which answers give it a result. */
abstract class Operation<T> {

  private static final byte[] NO_BODY = {};

  final String method;
  final URI uri;
  final byte[] body;
  final Map<String, String> headers = new LinkedHashMap<>();

  private Operation(String method, URI uri, byte[] body) {
    this.method = method;
    this.uri = uri;
    this.body = body;
    headers.put("User-Agent", LeadsClient.NAME + "/" + LeadsClient.VERSION);
  }

  /** Whether a lead may be stored without our knowing it. */
  boolean storesLead() {
    return false;
  }

  /** The result, if a whole answer gives one. */
  abstract Optional<T> result(Answer answer, String requestId, int tries);

  static Operation<KeyCheck> checkKey(BaseUrl baseUrl, ApiKey key) {
    return new Intake<>(baseUrl, key, "{}".getBytes(StandardCharsets.US_ASCII)) {
      @Override
      Optional<KeyCheck> result(Answer answer, String requestId, int tries) {
        if (answer.status == 401) {
          return Optional.of(new KeyCheck(KeyCheck.Verdict.INVALID, requestId, tries));
        }
        boolean validated =
            answer.status == 422 && answer.code().filter("validation_failed"::equals).isPresent();
        return validated
            ? Optional.of(new KeyCheck(KeyCheck.Verdict.VALID, requestId, tries))
            : Optional.empty();
      }
    };
  }

  static Operation<Acknowledgement> postLead(
      BaseUrl baseUrl, ApiKey key, byte[] lead, String idempotencyKey) {
    Operation<Acknowledgement> post =
        new Intake<>(baseUrl, key, lead) {
          @Override
          boolean storesLead() {
            return true;
          }

          @Override
          Optional<Acknowledgement> result(Answer answer, String requestId, int tries) {
            boolean acknowledges = answer.status == 200 || answer.status == 202;
            return acknowledges ? acknowledgement(answer, requestId, tries) : Optional.empty();
          }
        };
    post.headers.put("Idempotency-Key", idempotencyKey);
    return post;
  }

  private static Optional<Acknowledgement> acknowledgement(
      Answer answer, String requestId, int tries) {
    Optional<String> eventId = answer.string("event_id").filter(id -> !id.isEmpty());
    Optional<Acknowledgement.Status> status =
        answer.string("status").flatMap(Operation::acknowledgementStatus);
    Optional<String> receivedAt = answer.string("received_at");
    Optional<String> source = answer.string("source");
    Optional<List<String>> flags = answer.object().map(o -> o.get("flags")).flatMap(Json::strings);
    if (eventId.isEmpty()
        || status.isEmpty()
        || receivedAt.isEmpty()
        || source.isEmpty()
        || flags.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new Acknowledgement(
            eventId.get(),
            status.get(),
            receivedAt.get(),
            source.get(),
            flags.get(),
            requestId,
            tries));
  }

  private static Optional<Acknowledgement.Status> acknowledgementStatus(String text) {
    switch (text) {
      case "accepted":
        return Optional.of(Acknowledgement.Status.ACCEPTED);
      case "duplicate":
        return Optional.of(Acknowledgement.Status.DUPLICATE);
      default:
        return Optional.empty();
    }
  }

  static Operation<Vocabulary> vocabulary(
      BaseUrl baseUrl, VocabularyCache cache, Supplier<Instant> clock) {
    Optional<VocabularyCache.Entry> kept = cache.withEtag();
    Operation<Vocabulary> read =
        new Operation<>("GET", baseUrl.resolve("/v1/vocabulary"), NO_BODY) {
          @Override
          Optional<Vocabulary> result(Answer answer, String requestId, int tries) {
            if (answer.status == 304 && kept.isPresent()) {
              cache.renew(kept.get(), answer.headers, clock.get());
              return Optional.of(kept.get().vocabulary);
            }
            Optional<Vocabulary> read =
                answer.status == 200 ? readVocabulary(answer) : Optional.empty();
            read.ifPresent(vocabulary -> cache.keep(vocabulary, answer.headers, clock.get()));
            return read;
          }
        };
    kept.ifPresent(entry -> read.headers.put("If-None-Match", entry.etag));
    return read;
  }

  private static Optional<Vocabulary> readVocabulary(Answer answer) {
    Optional<Map<String, Object>> object = answer.object();
    Optional<List<Vocabulary.Area>> areas =
        object.map(o -> o.get("project_area")).flatMap(Operation::readAreas);
    Optional<List<String>> services =
        object.map(o -> o.get("project_service")).flatMap(Json::strings);
    Optional<List<String>> required = object.map(o -> o.get("required")).flatMap(Json::strings);
    if (areas.isEmpty() || services.isEmpty() || required.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(new Vocabulary(areas.get(), services.get(), required.get()));
  }

  private static Optional<List<Vocabulary.Area>> readAreas(Object value) {
    if (!(value instanceof List)) {
      return Optional.empty();
    }
    List<Vocabulary.Area> areas = new ArrayList<>();
    for (Object item : (List<?>) value) {
      Object area = item instanceof Map ? ((Map<?, ?>) item).get("area") : null;
      Object status = item instanceof Map ? ((Map<?, ?>) item).get("status") : null;
      if (!(area instanceof String) || !(status instanceof String)) {
        return Optional.empty();
      }
      areas.add(new Vocabulary.Area((String) area, (String) status));
    }
    return Optional.of(areas);
  }

  /** What goes to the intake: a post that carries the key. */
  private abstract static class Intake<T> extends Operation<T> {
    Intake(BaseUrl baseUrl, ApiKey key, byte[] body) {
      super("POST", baseUrl.resolve("/v1/intake"), body);
      headers.put("Content-Type", "application/json");
      headers.put("X-API-Key", key.reveal());
    }
  }
}
