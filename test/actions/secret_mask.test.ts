import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { escapeHtml } from "../../src/http/markup.ts";
import { Mask } from "../../src/actions/secret_mask.ts";
import { runs } from "../support/lead/properties.ts";

const secret = "s3cr3t+/=\"'<ü>& [x]|";
const inQuery = (text: string) => {
  const url = new URL("https://crm.example/");
  url.search = `?key=${text}`;
  return url.href;
};

/** Returns a character, of which only the last UTF-16 unit counts, as JSON may write it: `\u00f6`. */
const unitOf = (char: string) => `\\u${char.charCodeAt(char.length - 1).toString(16).padStart(4, "0")}`;
const inAscii = (json: string) => json.replaceAll(/[^\0-\x7f]/g, unitOf);

/** Every form in which a request or a CRM's response may contain a secret. */
const forms: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "in JSON": (text) => JSON.stringify({ key: text }),
  "in PHP's JSON": (text) => inAscii(JSON.stringify({ key: text })).replaceAll("/", "\\/"),
  "in PHP's JSON that keeps Unicode": (text) => JSON.stringify({ key: text }).replaceAll("/", "\\/"),
  "in Python's JSON": (text) => inAscii(JSON.stringify({ key: text })),
  "in Go's JSON": (text) => JSON.stringify({ key: text }).replaceAll(/[<>&]/g, unitOf),
  "in Gson's JSON": (text) => JSON.stringify({ key: text }).replaceAll(/[<>&'=]/g, unitOf),
  "in .NET's JSON": (text) =>
    JSON.stringify({ key: text }).replaceAll(
      /[^\0-\x7f]|[<>&'+`]|\\"/g,
      (char) => `\\u${unitOf(char).slice(2).toUpperCase()}`,
    ),
  "in HTML": (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  "in PHP's HTML": (text) => escapeHtml(text).replaceAll("&#39;", "&#039;"),
  "in an HTML attribute": escapeHtml,
  "in Python's HTML": (text) => escapeHtml(text).replaceAll("&#39;", "&#x27;"),
  "percent-encoded": encodeURIComponent,
  "percent-encoded in lower case": (text) =>
    encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
  "in a URL": encodeURI,
  "in a query": inQuery,
  "in a form": (text) => new URLSearchParams({ key: text }).toString(),
  "in Base64": (text) => Buffer.from(text).toString("base64"),
};

for (const [how, form] of Object.entries(forms)) {
  test(`a secret is hidden ${how}, and the rest is not`, () => {
    const hidden = new Mask([secret]).hide(`before ${form(secret)} after ${form(secret)}`);
    assert.match(hidden, /^before .*\*\*\*.* after .*\*\*\*/);
    assert.doesNotMatch(hidden, /s3cr3t|czNjcjN0/);
  });
}

test("no secret of printable characters is left in any of its encodings", () => {
  const text = fc.string({
    unit: fc.oneof(fc.string({ unit: "grapheme-ascii", minLength: 1 }), fc.constantFrom("ü", "😀")),
    minLength: 1,
  })
    // Digits, letters and signs that also stand in an encoding or in the surrounding text are hidden there too.
    .map((inner) => `S3cr3t!${inner}`);
  fc.assert(
    fc.property(text, fc.constantFrom(...Object.values(forms)), (one, form) => {
      const hidden = new Mask([one]).hide(form(one));
      assert.ok(hidden.includes("***") && !/S3cr3t|UzNjcjN0/.test(hidden), hidden);
    }),
    runs,
  );
});

test("an OAuth client's secret is hidden in the credentials of basic authentication", () => {
  const clientSecret = "s3cr3t/+p4ssw=rd~";
  for (const encoded of [encodeURIComponent(clientSecret), "s3cr3t%2F%2Bp4ssw%3Drd%7E"]) {
    for (const id of ["", "a", "ab"]) {
      const credentials = Buffer.from(`${id}:${encoded}`).toString("base64");
      const hidden = new Mask([clientSecret]).hide(credentials);
      assert.match(hidden, /\*\*\*/);
      assert.doesNotMatch(
        Buffer.from(hidden.replace("***", ""), "base64").toString("latin1"),
        /s3c|cr3|p4s|ssw/,
      );
    }
  }
});

test("a password is hidden in the credentials of basic authentication, whatever the user's length", () => {
  const password = "s3cr3t-p4ssword";
  for (const user of ["", "a", "ab", "abc", "abcd"]) {
    for (const after of ["", "x", "xy"]) {
      const credentials = Buffer.from(`${user}:${password}${after}`).toString("base64");
      const hidden = new Mask([password]).hide(`Basic ${credentials}`);
      const left = Buffer.from(hidden.replace(/^Basic |\*\*\*/g, ""), "base64").toString("latin1");
      assert.match(hidden, /^Basic .*\*\*\*/);
      assert.doesNotMatch(left, /s3c|cr3|p4s|word/);
    }
  }
});

test("a secret with a colon is not taken for a URL", () => {
  for (const one of ["key:abcdef", "xoxb:1", "http://user:pass", "javascript:alert(1)"]) {
    assert.equal(new Mask([one]).hide(`a ${one} b def pass`), "a *** b def pass", one);
  }
});

test("a secret that contains another is hidden whole", () => {
  const mask = new Mask(["abcd"]);
  mask.add("xx-abcd-yy");
  assert.equal(mask.hide("xx-abcd-yy abcd"), "*** ***");
});

test("no secret hides nothing", () => {
  assert.equal(new Mask([]).hide("text"), "text");
  assert.equal(new Mask([""]).hide("text"), "text");
});

test("of a webhook's URL only the host is shown", () => {
  const mask = new Mask(["https://hooks.zap.example/hooks/catch/123/s3cr3t?sig=qu3ry%20s1g&v=1"]);
  assert.equal(
    mask.hide("https://hooks.zap.example/hooks/catch/123/s3cr3t?sig=qu3ry%20s1g&v=1"),
    "https://hooks.zap.example/***",
  );
  assert.equal(
    mask.hide('{"path":"/hooks/catch/123/s3cr3t","query":{"sig":"qu3ry s1g"},"host":"hooks.zap.example"}'),
    '{"path":"/***","query":{"sig":"***"},"host":"hooks.zap.example"}',
  );
  assert.doesNotMatch(mask.hide(encodeURIComponent("hooks/catch/123/s3cr3t?sig=qu3ry%20s1g&v=1")), /s3cr3t/);
  assert.equal(mask.hide("an answer with v=1 and words"), "an answer with v=1 and words");
});

test("the path of a webhook's URL is hidden as it was given and as it is sent", () => {
  const mask = new Mask(["https://hooks.zap.example/a b/s3cr3t/ü"]);
  for (const path of ["a b/s3cr3t/ü", "a%20b/s3cr3t/%C3%BC"]) assert.equal(mask.hide(`/${path}`), "/***");
});

test("of a URL with a short path no words are hidden, but the whole URL", () => {
  for (
    const url of [
      "https://hooks.zap.example",
      "https://hooks.zap.example/lead",
      "https://hooks.zap.example/?a=1",
    ]
  ) {
    assert.equal(new Mask([url]).hide(`POST ${new URL(url).href}: a lead, a=1`), "POST ***: a lead, a=1");
  }
});
