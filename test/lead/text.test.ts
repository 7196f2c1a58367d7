import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { lineFault, normalizeDetails, normalizeLine, withoutControls } from "../../src/lead/text.ts";
import { messyText, runs } from "../support/lead/properties.ts";

/** Unicode 17, PropList.txt, White_Space. */
const whiteSpace = [
  ..."\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a",
  ..."\u2028\u2029\u202f\u205f\u3000",
];
const controls = Array.from({ length: 0xa0 }, (_, code) => code)
  .filter((code) => code < 0x20 || code > 0x7e)
  .map((code) => String.fromCharCode(code));

test("a line is normalized as its definition says", () => {
  fc.assert(
    fc.property(messyText, (text) => {
      const spaced = [...text.toWellFormed()].map((char) => whiteSpace.includes(char) ? " " : char);
      const kept = spaced.filter((char) => !controls.includes(char)).join("");
      assert.equal(normalizeLine(text), kept.split(" ").filter((word) => word !== "").join(" "));
    }),
    runs,
  );
});

test("project_details is normalized as its definition says", () => {
  fc.assert(
    fc.property(messyText, (text) => {
      const lines = text.toWellFormed().split("\0").join("").split(/\r\n|[\n\r\x85\u2028\u2029]/)
        .map((line) => line.split(new RegExp(`[${whiteSpace.join("")}]`)).filter(Boolean).join(" "));
      const kept: string[] = [];
      for (let at = 0; at < lines.length;) {
        let end = at;
        while (lines[end] === "") end++;
        if (end - at > 0) kept.push(...(end - at >= 3 ? [""] : lines.slice(at, end)));
        if (end < lines.length) kept.push(lines[end]!);
        at = end + 1;
      }
      while (kept[0] === "") kept.shift();
      while (kept.at(-1) === "") kept.pop();
      assert.equal(normalizeDetails(text), kept.join("\n"));
    }),
    runs,
  );
});

test("an operator's line is printable, well formed and short enough, or its fault is named", () => {
  for (const line of ["x", "É è", "🦄".repeat(5)]) assert.equal(lineFault(line, 5), null, line);
  assert.equal(lineFault("", 5), "must not be blank");
  assert.equal(lineFault("123456", 5), "is longer than 5 characters");
  assert.equal(lineFault("key lead_live_ghnds012", 50), "must not contain an API key");
  for (const line of ["\u0007", "\n", "a\u2028b", "\u202eab", "\u200f", "\ud800"]) {
    assert.match(lineFault(line, 5) ?? "", /^must not contain control characters/, JSON.stringify(line));
  }
});

test("normalizing is idempotent", () => {
  for (const normalize of [normalizeLine, normalizeDetails, withoutControls]) {
    fc.assert(
      fc.property(messyText, (text) => {
        const once = normalize(text);
        assert.ok(once.isWellFormed());
        assert.equal(normalize(once), once);
      }),
      runs,
    );
  }
});
