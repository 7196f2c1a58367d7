import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedHash, type Seed } from "../../src/limiter/keyed_hash.ts";

const seed: Seed = [0x0123_4567, 0x89ab_cdef];

function hashed(text: string, under: Seed = seed): readonly [number, number] {
  const hash = new KeyedHash(under);
  hash.update(text);
  return [hash.low, hash.high];
}

function bits([low, high]: readonly [number, number]): string {
  return low.toString(2).padStart(32, "0") + high.toString(2).padStart(32, "0");
}

test("a text has the same hash each time, whatever was hashed before", () => {
  const hash = new KeyedHash(seed);
  for (const text of ["192.0.2.1", "", "192.0.2.1"]) {
    hash.update(text);
    assert.deepEqual([hash.low, hash.high], hashed(text));
  }
});

test("both halves are unsigned 32-bit integers", () => {
  for (let n = 0; n < 1_000; n++) {
    for (const half of hashed(`${n}`)) assert.ok(Number.isInteger(half) && half >= 0 && half < 2 ** 32);
  }
});

test("texts that differ in length, case, order or a zero at the end differ in their hash", () => {
  const texts = [
    "",
    "\0",
    "\0\0",
    "a",
    "A",
    "ab",
    "ba",
    "ab\0",
    "aba",
    "\u0101",
    "\u0100",
    "10.0.0.1",
    "10.0.0.10",
  ];
  assert.equal(new Set(texts.map((text) => bits(hashed(text)))).size, texts.length);
});

test("each bit of text and seed changes about half of the bits", () => {
  const changes: number[] = [];
  const compare = (one: string, other: string) =>
    changes.push([...one].filter((bit, index) => bit !== other[index]).length);
  for (let n = 0; n < 200; n++) {
    const text = `10.${n}.7.${n}`;
    compare(
      bits(hashed(text)),
      bits(hashed(text.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) ^ 1)))),
    );
    compare(bits(hashed(text)), bits(hashed(text, [seed[0] ^ 1 << n % 32, seed[1]])));
    compare(bits(hashed(text)), bits(hashed(text, [seed[0], seed[1] ^ 1 << n % 32])));
  }
  const mean = changes.reduce((sum, change) => sum + change) / changes.length;
  assert.ok(mean > 31 && mean < 33, String(mean));
  assert.ok(Math.min(...changes) > 12 && Math.max(...changes) < 52);
});

test("addresses spread evenly over the sets of a table", () => {
  const sets = new Array<number>(1024).fill(0);
  for (let n = 0; n < 102_400; n++) {
    const [low] = hashed(`10.${n >> 16}.${n >> 8 & 255}.${n & 255}`);
    sets[low & 1023] = (sets[low & 1023] as number) + 1;
  }
  // 100 are expected in each, with a standard deviation of 10.
  assert.ok(
    Math.min(...sets) > 50 && Math.max(...sets) < 150,
    `${Math.min(...sets)} to ${Math.max(...sets)}`,
  );
});
