import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAcceptEncoding, preferredCoding } from "#src/http/accept_encoding.ts";

const all = ["br", "zstd", "gzip", "identity"] as const;

function choose(header: string | undefined, available: readonly string[] = all): string | null {
  return preferredCoding(parseAcceptEncoding(header), available);
}

test("what a client wants most is chosen, ours first among what it wants alike", () => {
  assert.equal(choose("gzip, deflate, br, zstd"), "br");
  assert.equal(choose("gzip, zstd"), "zstd");
  assert.equal(choose("gzip"), "gzip");
  assert.equal(choose("br;q=0.5, gzip;q=0.8"), "gzip");
  assert.equal(choose("br;q=0.001"), "br");
  assert.equal(choose("BR ; Q=1.000"), "br");
  assert.equal(choose("x-gzip"), "gzip");
  assert.equal(choose("*"), "br");
  assert.equal(choose("*;q=0.1, gzip"), "gzip");
});

test("identity is what remains, unless it is wanted more or refused", () => {
  for (
    const header of [undefined, "", "deflate", "br;q=0", "*;q=0, identity", "gzip;q=0, *;q=0, identity;q=0.1"]
  ) {
    assert.equal(choose(header), "identity", header);
  }
  assert.equal(choose("gzip;q=0.5, identity"), "identity");
  assert.equal(choose("identity;q=0.5, gzip;q=0.4"), "identity");
  assert.equal(choose("gzip", ["br", "identity"]), "identity");
  assert.equal(choose("identity;q=0"), null);
  assert.equal(choose("*;q=0"), null);
  assert.equal(choose("identity;q=0, gzip", ["identity"]), null);
  assert.equal(choose("identity;q=0, gzip"), "gzip");
  assert.equal(choose("*;q=0, gzip"), "gzip");
});

test("a member that is malformed says nothing", () => {
  for (
    const header of [
      "br;q=2",
      "br;q=1.001",
      "br;q=0.0001",
      "br;q=-1",
      "br;q=",
      "br;level=5",
      "b r",
      ";q=1",
      "br;q=1;q=0",
    ]
  ) {
    assert.equal(choose(header), "identity", header);
  }
  assert.equal(choose("br;q=x, gzip"), "gzip");
});
