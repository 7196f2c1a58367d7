/** Compares a response as a playground shows it with the server's. */

import assert from "node:assert/strict";
import type { Answer } from "../client.ts";

const framing = ["date", "connection", "keep-alive", "content-length"];
/** The members that the server generates, for which a playground shows placeholders. */
const generated = ["event_id", "submission_id", "received_at", "source", "request_id"];

/** Fails unless the shown text has the status, the headers' names and the body of the server's response. */
export function assertShown(shown: string, real: Answer, what: string): void {
  const bodyAt = shown.indexOf("\n\n");
  const [statusLine = "", ...lines] = shown.slice(0, bodyAt).split("\n");
  assert.match(statusLine, new RegExp(`^HTTP/1\\.1 ${real.status} [A-Z]`), what);
  const names = lines.map((line) => line.split(":")[0]?.toLowerCase());
  assert.deepEqual(
    names.sort(),
    Object.keys(real.headers).filter((name) => !framing.includes(name)).sort(),
    what,
  );
  const body = JSON.parse(shown.slice(bodyAt));
  assert.deepEqual(Object.keys(body), Object.keys(real.json), what);
  for (const member of generated) if (member in body) body[member] = real.json[member];
  assert.deepEqual(body, real.json, what);
}
