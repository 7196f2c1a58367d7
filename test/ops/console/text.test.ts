import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { TimeZone } from "../../../src/http/time_zone.ts";
import { formatMs, formatSeconds, safeText, timeElement } from "../../../src/ops/console/text.ts";

test("invisible and bidirectional characters are shown by code point", () => {
  assert.equal(safeText("a\u0000b").text, `<bdi>a<span class="unseen">U+0000</span>b</bdi>`);
  assert.equal(safeText("\u202Egpj.exe").text, `<bdi><span class="unseen">U+202E</span>gpj.exe</bdi>`);
  assert.equal(safeText("a\u200b\u200b\u200bb").text, `<bdi>a<span class="unseen">U+200B×3</span>b</bdi>`);
  assert.equal(safeText("\ud800x").text, `<bdi><span class="unseen">U+D800</span>x</bdi>`);
  assert.equal(safeText("\u{e0041}").text, `<bdi><span class="unseen">U+E0041</span></bdi>`);
  assert.equal(safeText("مرحبا می‌خواهم 👩‍🚀\n\tz").text, "<bdi>مرحبا می‌خواهم 👩‍🚀\n\tz</bdi>");
});

test("no caller's text opens a tag or ends an attribute", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const inner = safeText(text).text.replaceAll(/<\/?bdi>|<span class="unseen">|<\/span>/g, "");
    assert.doesNotMatch(inner, /[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
  }));
});

test("spans and durations use one unit", () => {
  assert.deepEqual([0, 59, 60, 90, 120, 3_599, 3_600, 5_400, 7_200, 172_800].map(formatSeconds), [
    "0 s",
    "59 s",
    "1 min",
    "90 s",
    "2 min",
    "60 min",
    "1 h",
    "90 min",
    "2 h",
    "2 days",
  ]);
  assert.deepEqual([null, 0, 9_999, 10_000].map(formatMs), ["–", "0 ms", "9,999 ms", "10 s"]);
});

const nowMs = Date.parse("2026-11-21T02:00:00Z");
const clockIn = (name: string) => ({ nowMs, zone: new TimeZone(name) });

test("a time is shown in the operator's zone, and an ambiguous hour with its offset", () => {
  const shownIn = (zone: string, iso: string) =>
    />([^<]*)<\/time>/.exec(timeElement(iso, clockIn(zone)).text)?.[1];
  assert.equal(shownIn("UTC", "2026-11-21T01:57:00.123Z"), "2026-11-21 01:57:00");
  assert.equal(shownIn("America/New_York", "2026-11-21T01:57:00Z"), "2026-11-20 20:57:00");
  assert.equal(shownIn("Europe/Berlin", "2026-10-25T00:30:00Z"), "2026-10-25 02:30:00 +02:00");
  assert.equal(shownIn("Europe/Berlin", "2026-10-25T01:30:00Z"), "2026-10-25 02:30:00 +01:00");
  assert.match(
    timeElement("2026-11-21T01:57:00.123Z", clockIn("Asia/Tokyo")).text,
    / datetime="2026-11-21T01:57:00.123Z"/,
  );
  assert.match(timeElement(null, clockIn("UTC")).text, /–/);
});
