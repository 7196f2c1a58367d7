import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNetworks } from "../../../src/http/addresses.ts";
import type { Exchange } from "../../../src/http/exchange.ts";
import { operatorName } from "../../../src/ops/console/context.ts";

test("X-Forwarded-User names the operator only if a trusted proxy sent it once, printable and not too long", () => {
  const inBytes = (text: string) => Buffer.from(text).toString("latin1");
  const long = "é".repeat(100);
  const named: readonly (readonly [string, readonly string[], string])[] = [
    ["10.1.2.3", [inBytes(" Zoë@example.com ")], "Zoë@example.com"],
    ["10.1.2.3", [inBytes(long)], long],
    ["10.1.2.3", [inBytes(`${long}é`)], "console"],
    ["10.1.2.3", ["alice", "bob"], "console"],
    ["10.1.2.3", [], "console"],
    ["10.1.2.3", [" "], "console"],
    ["10.1.2.3", ["\xff"], "console"],
    ["10.1.2.3", ["a\tb"], "console"],
    ["10.1.2.3", [inBytes("a\u202eb")], "console"],
    ["127.0.0.1", ["alice"], "console"],
  ];
  for (const [peerAddress, lines, name] of named) {
    const exchange = { peerAddress, headerLines: (_name: string) => lines } as unknown as Exchange;
    assert.equal(operatorName(exchange, parseNetworks("10.0.0.0/8")), name, JSON.stringify(lines));
  }
});
