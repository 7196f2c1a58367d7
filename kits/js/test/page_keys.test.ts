import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

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

let loads = 0;

/** A page that has just been loaded. */
async function loadPage(): Promise<typeof import("../src/page_keys.ts")> {
  return await import(`../src/page_keys.ts?load=${++loads}`);
}

test("the same content of a form has the same key, also after a reload and after another one", async () => {
  const { keyFor } = await loadPage();
  const key = keyFor("contact", "one");
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(keyFor("contact", "one"), key);
  assert.notEqual(keyFor("contact", "two"), key);
  assert.notEqual(keyFor("another", "one"), key);
  assert.equal(keyFor("contact", "one"), key);
  assert.equal((await loadPage()).keyFor("contact", "one"), key);
});

test("another tab has keys of its own, and a copy of the tab the same ones", async () => {
  const key = (await loadPage()).keyFor("contact", "one");
  const copied = new Map(storage.items);
  storage.items.clear();
  assert.notEqual((await loadPage()).keyFor("contact", "one"), key);
  storage.items.clear();
  for (const [name, value] of copied) storage.items.set(name, value);
  assert.equal((await loadPage()).keyFor("contact", "one"), key);
});

test("contents that hardly differ have keys that differ in each half", async () => {
  const { keyFor } = await loadPage();
  const keys = Array.from({ length: 50_000 }, (_, n) => keyFor("contact", `{"phone":"+1415${5550000 + n}"}`));
  for (const half of [keys.map((key) => key.slice(0, 16)), keys.map((key) => key.slice(16))]) {
    assert.equal(new Set(half).size, keys.length);
  }
});

test("the storage holds nothing that was typed, and does not grow", async () => {
  const { keyFor } = await loadPage();
  for (let n = 0; n < 100; n += 1) keyFor(`form ${n}`, "Lovelace");
  assert.deepEqual([...storage.items.keys()], ["leads-js"]);
  assert.match(storage.getItem("leads-js") ?? "", /^[0-9a-f]{32}$/);
});

test("what another script wrote into the storage is passed over, and what it empties is not missed", async () => {
  for (const value of ["{", "5", "[null, 1, {}]", "0".repeat(31), "x".repeat(32)]) {
    storage.setItem("leads-js", value);
    const { keyFor } = await loadPage();
    const key = keyFor("contact", "one");
    assert.notEqual(storage.getItem("leads-js"), value);
    storage.items.clear();
    assert.equal(keyFor("contact", "one"), key);
  }
});

test("a storage that is closed or full is done without, for as long as the page is there", async () => {
  const full = {
    getItem: () => "[]",
    setItem: () => {
      throw new DOMException("The quota has been exceeded", "QuotaExceededError");
    },
  };
  const closed = () => {
    throw new DOMException("The operation is insecure", "SecurityError");
  };
  for (const get of [() => full, closed]) {
    Object.defineProperty(globalThis, "sessionStorage", { get, configurable: true });
    const { keyFor } = await loadPage();
    const keys = ["one", "two"].map((content) => keyFor("contact", content));
    assert.notEqual(keys[0], keys[1]);
    assert.deepEqual(["one", "two"].map((content) => keyFor("contact", content)), keys);
  }
});
