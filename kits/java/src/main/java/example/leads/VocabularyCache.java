package example.leads;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The last vocabulary that came, how long it holds, and its ETag. */
final class VocabularyCache {

  private static final Pattern MAX_AGE =
      Pattern.compile("(?:^|[\\s,])max-age=\"?(\\d+)", Pattern.CASE_INSENSITIVE);

  private static final Pattern NEVER_KEPT =
      Pattern.compile("(?:^|[\\s,])no-(?:store|cache)", Pattern.CASE_INSENSITIVE);

  /** What is sent back has to be an ETag, and short: a header may hold anything. */
  private static final Pattern ETAG = Pattern.compile("(?:W/)?\"[!#-~]{0,256}\"");

  private static final int SECONDS_DIGITS_MAX = 9;

  /** An answer that is kept. */
  static final class Entry {
    final Vocabulary vocabulary;
    final String etag;
    private final long maxAgeSeconds;
    private final Instant from;

    Entry(Vocabulary vocabulary, String etag, long maxAgeSeconds, Instant from) {
      this.vocabulary = vocabulary;
      this.etag = etag;
      this.maxAgeSeconds = maxAgeSeconds;
      this.from = from;
    }

    private boolean isFresh(Instant now) {
      Duration age = Duration.between(from, now);
      return !age.isNegative() && age.compareTo(Duration.ofSeconds(maxAgeSeconds)) < 0;
    }
  }

  private final AtomicReference<Entry> kept = new AtomicReference<>();

  Optional<Vocabulary> fresh(Instant now) {
    return Optional.ofNullable(kept.get()).filter(e -> e.isFresh(now)).map(e -> e.vocabulary);
  }

  /** What a new read can build on, if that has an ETag. */
  Optional<Entry> withEtag() {
    return Optional.ofNullable(kept.get()).filter(e -> e.etag != null);
  }

  void keep(Vocabulary vocabulary, HttpHeaders headers, Instant now) {
    String etag = headers.firstValue("ETag").filter(e -> ETAG.matcher(e).matches()).orElse(null);
    kept.set(new Entry(vocabulary, etag, maxAgeSeconds(headers).orElse(0), now));
  }

  /** An answer 304 gives what it answers for another term: its own, or the same again. */
  void renew(Entry entry, HttpHeaders headers, Instant now) {
    long maxAgeSeconds = maxAgeSeconds(headers).orElse(entry.maxAgeSeconds);
    kept.set(new Entry(entry.vocabulary, entry.etag, maxAgeSeconds, now));
  }

  private static OptionalLong maxAgeSeconds(HttpHeaders headers) {
    String cacheControl = String.join(",", headers.allValues("Cache-Control"));
    if (NEVER_KEPT.matcher(cacheControl).find()) {
      return OptionalLong.of(0);
    }
    Matcher maxAge = MAX_AGE.matcher(cacheControl);
    if (!maxAge.find()) {
      return OptionalLong.empty();
    }
    String digits = maxAge.group(1);
    return OptionalLong.of(
        digits.length() > SECONDS_DIGITS_MAX ? 1_000_000_000 : Long.parseLong(digits));
  }
}
