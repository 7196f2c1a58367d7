import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { acknowledge, keyFor } from "../src/page_keys.ts";

/** The browser's storage of a tab. */
class Storage {
  readonly items = new Map<string, string>();
  getItem = (name: string) => this.items.get(name) ?? null;
  setItem = (name: string, value: string) => void this.items.set(name, value);
}

let storage = new Storage();

beforeEach(() => {
  storage = new Storage();
  Object.defineProperty(globalThis, "sessionStorage", { get: () => storage, configurable: true });
});

test("a form's key stays until its content is acknowledged, whatever is corrected on the way", () => {
  const key = keyFor("contact", "one");
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(keyFor("contact", "one"), key);
  assert.equal(keyFor("contact", "two"), key);
  assert.notEqual(keyFor("another", "one"), key);
});

test("after the acknowledgement the same content keeps the key, and a changed form gets a new one", () => {
  const key = keyFor("contact", "one");
  acknowledge("contact", key, "one");
  assert.equal(keyFor("contact", "one"), key);
  const next = keyFor("contact", "two");
  assert.notEqual(next, key);
  // The acknowledgement of the one before comes late.
  acknowledge("contact", key, "two");
  assert.equal(keyFor("contact", "three"), next);
});

test("the storage holds the 20 forms that were used last, and nothing that was typed", () => {
  const first = keyFor("form 0", "Lovelace");
  for (let n = 1; n <= 19; n += 1) keyFor(`form ${n}`, "Lovelace");
  assert.equal(keyFor("form 0", "Lovelace"), first);
  const second = keyFor("form 1", "Lovelace");
  for (let n = 20; n < 39; n += 1) keyFor(`form ${n}`, "Lovelace");
  const stored = storage.getItem("leads-js") ?? "";
  assert.equal(JSON.parse(stored).length, 20);
  assert.ok(!/Lovelace|form/.test(stored.replaceAll('"form"', "")));
  assert.equal(keyFor("form 1", "Lovelace"), second);
  assert.notEqual(keyFor("form 0", "Lovelace"), first);
});

test("what another script wrote into the storage is passed over", () => {
  for (const value of ["{", "5", "[null, 1, {}]", '[{"form":"x","key":"short","acknowledged":null}]']) {
    storage.setItem("leads-js", value);
    assert.match(keyFor("contact", "one"), /^[0-9a-f]{32}$/);
  }
});

test("a storage that is closed is done without, for as long as the page is there", () => {
  Object.defineProperty(globalThis, "sessionStorage", {
    get: () => {
      throw new DOMException("The operation is insecure", "SecurityError");
    },
    configurable: true,
  });
  const key = keyFor("closed", "one");
  assert.equal(keyFor("closed", "one"), key);
});
