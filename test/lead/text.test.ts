import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { asSent, isLongerThan, normalizeDetails, normalizeLine } from "../../src/lead/text.ts";
import { messyText, runs } from "../support/lead/properties.ts";

/** Unicode 17, PropList.txt, White_Space. */
const whiteSpace = [
  ..."\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a",
  ..."\u2028\u2029\u202f\u205f\u3000",
];
const controls = Array.from({ length: 0xa0 }, (_, code) => code)
  .filter((code) => code < 0x20 || code > 0x7e)
  .map((code) => String.fromCharCode(code));

test("every character of White_Space becomes one space inside a line and none at its ends", () => {
  for (const space of whiteSpace) {
    assert.equal(normalizeLine(`${space}a${space}${space}b${space}`), "a b", escape(space));
  }
});

test("every control character that is no white space vanishes from a line", () => {
  const vanishing = controls.filter((control) => !whiteSpace.includes(control));
  assert.equal(vanishing.length, 59);
  for (const control of vanishing) {
    assert.equal(normalizeLine(`${control}a${control}b${control}`), "ab", escape(control));
  }
});

test("no other character of the BMP is touched in a line", () => {
  for (let code = 0; code <= 0xffff; code++) {
    const char = String.fromCharCode(code);
    if (whiteSpace.includes(char) || controls.includes(char) || !char.isWellFormed()) continue;
    assert.equal(normalizeLine(`${char}a${char}`), `${char}a${char}`, escape(char));
  }
});

test("blank lines of text are empty text", () => {
  for (const normalize of [normalizeLine, normalizeDetails, asSent]) {
    assert.equal(normalize(""), "");
    assert.equal(normalize(whiteSpace.join("")), "");
  }
});

test("a line equals its definition", () => {
  fc.assert(
    fc.property(messyText, (text) => {
      const spaced = [...text.toWellFormed()].map((char) => whiteSpace.includes(char) ? " " : char);
      const kept = spaced.filter((char) => !controls.includes(char)).join("");
      assert.equal(normalizeLine(text), kept.split(" ").filter((word) => word !== "").join(" "));
    }),
    runs,
  );
});

test("project_details equals its definition", () => {
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

test("text as sent keeps what is inside it but for control characters", () => {
  fc.assert(
    fc.property(messyText, (text) => {
      const kept = [...text.toWellFormed()].flatMap((char) => {
        if (!controls.includes(char)) return [char];
        return whiteSpace.includes(char) ? [" "] : [];
      });
      while (kept.length > 0 && whiteSpace.includes(kept[0]!)) kept.shift();
      while (kept.length > 0 && whiteSpace.includes(kept.at(-1)!)) kept.pop();
      assert.equal(asSent(text), kept.join(""));
    }),
    runs,
  );
});

test("normalizing a second time changes nothing", () => {
  for (const normalize of [normalizeLine, normalizeDetails, asSent]) {
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

test("lengths count runes, not UTF-16 units or bytes", () => {
  for (const char of ["x", "é", "李", "😀"]) {
    assert.equal(isLongerThan(char.repeat(9), 10), false, char);
    assert.equal(isLongerThan(char.repeat(10), 10), false, char);
    assert.equal(isLongerThan(char.repeat(11), 10), true, char);
    assert.equal(isLongerThan(char.repeat(21), 10), true, char);
  }
  assert.equal(isLongerThan("", 0), false);
  assert.equal(isLongerThan(`${"x".repeat(9)}😀`, 10), false);
  assert.equal(isLongerThan(`${"x".repeat(10)}😀`, 10), true);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(12), (text, lengthMax) => {
      assert.equal(isLongerThan(text, lengthMax), [...text].length > lengthMax);
    }),
    runs,
  );
});

function escape(char: string): string {
  return `U+${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
