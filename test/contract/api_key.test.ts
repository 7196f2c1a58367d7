import assert from "node:assert/strict";
import test from "node:test";
import { crc32 } from "node:zlib";
import {
  generateKey,
  isSandboxFormsKey,
  keyFault,
  keyInText,
  keySurface,
  maskKeys,
} from "../../src/contract/api_key.ts";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Stands in for the CSPRNG. */
const counting = (bytes: Uint8Array) => bytes.forEach((_, at) => bytes[at] = at);

function valueOf(base62: string): number {
  return [...base62].reduce((value, digit) => value * 62 + digits.indexOf(digit), 0);
}

test("a key is its prefix, 32 random characters and a 6-character CRC-32 of both", () => {
  for (const surface of ["intake", "forms"] as const) {
    for (const sandbox of [true, false]) {
      const key = generateKey({ surface, sandbox }, counting);
      const prefix = `${surface === "intake" ? "lead" : "form"}_${sandbox ? "test" : "live"}_`;
      assert.equal(key.slice(0, -6), prefix + digits.slice(0, 32));
      assert.equal(valueOf(key.slice(-6)), crc32(key.slice(0, -6)));
      assert.equal(keySurface(key), surface);
      assert.equal(isSandboxFormsKey(key), surface === "forms" && sandbox);
      assert.equal(isSandboxFormsKey(key.slice(0, -1)), false);
      assert.match(`key=${key};`, keyInText);
      assert.match(key.slice(0, -1), keyInText, "a truncated key is still a secret");
    }
  }
});

test("bytes that would favour some characters are discarded and drawn again", () => {
  let calls = 0;
  const key = generateKey({ surface: "intake", sandbox: true }, (bytes) => {
    bytes.fill(calls < 2 ? 255 : 61);
    if (calls === 1) bytes.fill(247, 0, 5);
    calls++;
  });
  assert.equal(calls, 3);
  assert.equal(key.slice(10, -6), "z".repeat(32));
});

test("a key with one mistyped, missing or added character is invalid", () => {
  const key = generateKey({ surface: "intake", sandbox: false }, counting);
  for (let at = 0; at < key.length; at++) {
    for (const other of "0aZ_é") {
      if (other === key[at]) continue;
      assert.equal(keySurface(key.slice(0, at) + other + key.slice(at + 1)), null, `${at}: ${other}`);
    }
    assert.equal(keySurface(key.slice(0, at) + key.slice(at + 1)), null, `${at} missing`);
  }
  for (const text of ["", ` ${key}`, `${key}\n`, `${key}0`, key.toUpperCase(), "lead_live_"]) {
    assert.equal(keySurface(text), null, text);
  }
});

test("keyFault finds quotes, a wrong checksum and a key of the other surface", () => {
  const [intake, forms] = (["intake", "forms"] as const).map((surface) =>
    generateKey({ surface, sandbox: true }, counting)
  ) as [string, string];
  const reasonOf = (text: string, surface: "intake" | "forms" = "intake") => keyFault(text, surface)?.reason;
  for (const text of [`"${intake}"`, `'${forms}'`, `"${intake}`, '"lead_test_"']) {
    assert.equal(reasonOf(text), "key_in_quotes", text);
  }
  for (const text of [intake.slice(0, -1), `${intake}0`, "lead_live_", forms.slice(0, 20)]) {
    assert.equal(reasonOf(text), "key_checksum", text);
  }
  assert.deepEqual([reasonOf(forms), reasonOf(intake, "forms")], ["forms_key", "intake_key"]);
  for (const text of [intake, "", "secret", '"secret"', `${intake}, ${intake}`, intake.toUpperCase()]) {
    assert.equal(reasonOf(text), undefined, text);
  }
});

test("maskKeys masks each key in a text, keeps the length, and leaves what only looks like a key", () => {
  const key = generateKey({ surface: "forms", sandbox: true }, counting);
  const masked = `form_test_${"*".repeat(34)}${key.slice(-4)}`;
  const lookalike = `lead_live_${"0".repeat(38)}`;
  assert.equal(maskKeys(`a:${key}:${lookalike}:${key}`), `a:${masked}:${lookalike}:${masked}`);
});
