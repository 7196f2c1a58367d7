import assert from "node:assert/strict";
import { test } from "node:test";
import { freshAddress } from "../support/client.ts";
import type { LogLine } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const key = await testEnv.issue();

const lineOf = (requestId: string): Promise<LogLine> =>
  until(() => server.logs.find((line) => line.request_id === requestId));

test("the access line has time, request id, surface, method, route, status, duration, bytes, client, key id and event id", async () => {
  const localAddress = freshAddress();
  const body = lead();
  const post = (id: string) =>
    testEnv.send("/v1/intake?secret=1", {
      method: "POST",
      key: key.text,
      body,
      headers: { "X-Request-Id": id },
      localAddress,
    });
  const answer = await post("access line");
  const { time, duration_ms, ...line } = await lineOf("access line");
  assert.ok(typeof time === "string");
  assert.ok(typeof duration_ms === "number" && duration_ms > 0 && duration_ms < 20_000);
  assert.deepEqual(line, {
    level: "info",
    event: "request",
    request_id: "access line",
    surface: "intake",
    method: "POST",
    route: "/v1/intake",
    status: 202,
    bytes: Buffer.byteLength(answer.text),
    client: localAddress,
    key_id: String(key.id),
    event_id: answer.json.event_id,
  });
  await post("repeat");
  const { status, event_id } = await lineOf("repeat");
  assert.deepEqual({ status, event_id }, { status: 200, event_id: line.event_id });
});

test("a refused request's line has the reason and our field names, nothing of the caller's", async () => {
  const name = "Q9name";
  const refused: readonly [body: unknown, reason: string][] = [
    ["[]", "array"],
    ["first_name=Ada", "form_encoded"],
    [`{"${name}":1,}`, "trailing_comma"],
    [lead({ cost: "1", phone: 1 }), "wrong_type phone cost"],
    [lead({ last_name: "", cost: 0 }), "last_name required, cost out_of_range"],
    [{ [name]: lead() }, "first_name required, last_name required, phone required, wrapped"],
    [{ ...lead(), phone: undefined, Phone: name }, "phone required, misspelled phone"],
  ];
  for (const [index, [body, reason]] of refused.entries()) {
    const id = `refused ${index}`;
    await testEnv.intake({ key: key.text, body: body as string, headers: { "X-Request-Id": id } });
    assert.equal((await lineOf(id)).reason, reason);
  }
  const twice = { "X-Request-Id": "twice", "Idempotency-Key": ["a", "b"] };
  await testEnv.intake({ key: key.text, body: lead(), headers: twice });
  assert.equal((await lineOf("twice")).reason, "repeated_idempotency_key");
  assert.ok(!server.output.stdout.includes(name));
});

test("an unknown path is logged as -, without path or query", async () => {
  const path = `/v1/${key.text}/555-123-4567?phone=5551234567`;
  await testEnv.send(path, { headers: { "X-Request-Id": "unrouted" } });
  const line = await lineOf("unrouted");
  assert.equal(line.route, "-");
  assert.equal(line.status, 404);
  assert.doesNotMatch(JSON.stringify(line), /5551234567|555-123/);
});

test("no key, lead or Idempotency-Key reaches the log, whatever is wrong with it", async () => {
  const secret = "Q9secret";
  const idempotencyKey = `${secret}:${freshKey()}`;
  const sent = [
    { key: key.text, body: lead({ city: secret }), headers: { "Idempotency-Key": idempotencyKey } },
    { key: key.text, body: lead({ city: secret }), headers: { "Idempotency-Key": idempotencyKey } },
    { key: key.text, body: `{"first_name":"${secret}"` },
    { key: key.text, body: { first_name: secret.repeat(50), [secret]: 1 } },
    { key: secret, body: lead({ city: secret }) },
    { key: `lead_live_${secret.padEnd(38, "0")}`, body: lead() },
    { key: key.text, body: lead(), headers: { "Cookie": secret, "User-Agent": secret, "Referer": secret } },
    { key: key.text, body: lead({ [secret]: `\u0000${secret}` }) },
  ];
  for (const [index, options] of sent.entries()) {
    const id = `content ${index}`;
    await testEnv.send("/v1/intake", {
      method: "POST",
      ...options,
      headers: { ...options.headers, "X-Request-Id": id },
    });
    await lineOf(id);
  }
  // When the environment ends, it searches the whole output for keys, digests and the leads' names.
  assert.doesNotMatch(server.output.stdout, new RegExp(secret));
});
