import assert from "node:assert/strict";
import test from "node:test";
import { RefusedPage } from "../../../src/ops/console/layout.ts";
import { parseQuery, queryOf } from "../../../src/ops/console/query.ts";

const refused = (error: unknown) => error instanceof RefusedPage && error.status === 400;

test("values are decoded, trimmed, and absent when blank", () => {
  const query = parseQuery("a=%20x+y%20&b=&c=1&c=2&&d", ["a", "b", "c", "d"]);
  assert.equal(query.text("a"), "x y");
  assert.equal(query.text("b"), null);
  assert.equal(query.text("d"), null);
  assert.equal(query.text("nothing"), null);
  assert.deepEqual(query.all("c"), ["1", "2"]);
  assert.throws(() => query.text("c"), refused);
});

test("a byte-order mark at an end stays, because a term may begin with one", () => {
  const query = parseQuery("a=%EF%BB%BFsauna&b=%C2%A0%C2%85sauna%E3%80%80", ["a", "b"]);
  assert.equal(query.text("a"), "\ufeffsauna");
  assert.equal(query.text("b"), "sauna");
});

test("what is unknown, malformed, too long or too much is refused", () => {
  const many = Array.from({ length: 1_001 }, () => "a=1").join("&");
  for (
    const text of ["b=1", "a=%", "a=%zz", "a=%C3", "a=%00", `a=${"x".repeat(1_001)}`, many, "__proto__=1"]
  ) {
    assert.throws(() => parseQuery(text, ["a"]), refused, text.slice(0, 20));
  }
  assert.throws(() => parseQuery("a=1", []), refused);
});

test("a shape and a choice are held to", () => {
  const query = parseQuery("a=7&b=x", ["a", "b"]);
  assert.equal(query.shaped("a", /^\d$/), "7");
  assert.throws(() => query.shaped("b", /^\d$/), refused);
  assert.equal(query.oneOf("b", ["x", "y"]), "x");
  assert.throws(() => query.oneOf("a", ["x", "y"]), refused);
});

test("an address is made of the values there are", () => {
  assert.equal(queryOf({ a: null }), "");
  assert.equal(queryOf({ a: "x y&z", b: null, c: "ü" }), "?a=x+y%26z&c=%C3%BC");
});
