import assert from "node:assert/strict";
import { test } from "node:test";
import { responseHeaders } from "../../src/actions/response_headers.ts";

test("the headers that help with a failure are kept, masked and bounded, and cookies are not", () => {
  const kept = {
    "content-type": "application/json",
    "retry-after": "30",
    "x-request-id": "a",
    "request-id": "b",
    "x-hubspot-correlation-id": "c",
    "x-slack-req-id": "d",
    "sforce-limit-info": "api-usage=1/2",
    "x-hubspot-ratelimit-daily-remaining": "3",
    "ratelimit": "4",
    "cf-ray": "e",
  };
  const left = {
    "set-cookie": "s",
    "authorization": "t",
    "location": "/x",
    "server": "y",
    "x-request-idle": "z",
  };
  assert.deepEqual(responseHeaders({ ...left, ...kept }), kept);
  const hide = (text: string) => text.replaceAll("secret", "***");
  assert.deepEqual(responseHeaders({ "x-request-id": `${"a".repeat(196)}secret\x9bb` }, hide), {
    "x-request-id": `${"a".repeat(196)}***`,
  });
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`x-${index}-request-id`, "\xff".repeat(900)]),
  );
  const bounded = responseHeaders({ ...many, [`${"a-".repeat(9_000)}request-id`]: "a" });
  assert.equal(Object.keys(bounded).length, 12);
  assert.ok(Buffer.byteLength(JSON.stringify(bounded)) < 8_000);
});
