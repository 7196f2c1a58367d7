import assert from "node:assert/strict";
import { test } from "node:test";
import { freshAddress } from "../support/client.ts";
import { until } from "../support/until.ts";
import { exchangeRaw } from "../support/http/raw_connection.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start({ INTAKE_IP_PER_MINUTE: "1", INTAKE_IP_BURST: "6" });
const key = await testEnv.issue();

const echoed = async (id: string) =>
  (await testEnv.send("/healthz", { headers: { "X-Request-Id": id } })).headers["x-request-id"];

test("X-Request-Id is echoed on every kind of response, in the error body too, and once", async () => {
  const localAddress = freshAddress();
  let n = 0;
  const cases = [
    { status: 202, inBody: false, options: { method: "POST", key: key.text, body: lead() } },
    { status: 422, inBody: true, options: { method: "POST", key: key.text, body: {} } },
    { status: 400, inBody: true, options: { method: "POST", key: key.text, body: "[]" } },
    { status: 401, inBody: true, options: { method: "POST", body: "[]" } },
    { status: 405, inBody: true, options: { method: "PATCH" } },
    { status: 413, inBody: false, options: { method: "POST", body: " ".repeat(65_537) } },
    { status: 429, inBody: false, options: { method: "POST", body: "{}" } },
  ];
  for (const { status, inBody, options } of cases) {
    n += 1;
    const id = `partner ${n}: "A/b" {c}`;
    const answer = await testEnv.send("/v1/intake", {
      ...options,
      localAddress,
      headers: { "X-Request-Id": id },
    });
    assert.equal(answer.status, status);
    assert.equal(answer.headers["x-request-id"], id);
    assert.equal(answer.rawHeaders.filter((name) => name.toLowerCase() === "x-request-id").length, 1);
    assert.equal(answer.json.request_id, inBody ? id : undefined);
    await until(() => server.logs.some((line) => line.request_id === id && line.status === status));
  }
  for (const path of ["/nowhere", "/v1/vocabulary", "/healthz"]) {
    const answer = await testEnv.send(path, { headers: { "X-Request-Id": path } });
    assert.equal(answer.headers["x-request-id"], path);
  }
});

test("64 characters are adopted, 65 are not, and a blank one counts as none", async () => {
  assert.equal(await echoed("i".repeat(64)), "i".repeat(64));
  for (const refused of ["i".repeat(65), "i".repeat(5_000), "", "  "]) {
    assert.match(String(await echoed(refused)), /^[0-9a-f]{16,64}$/);
  }
});

test("each request without one gets a generated id", async () => {
  const ids = new Set<unknown>();
  for (let n = 0; n < 20; n += 1) ids.add((await testEnv.send("/healthz")).headers["x-request-id"]);
  assert.equal(ids.size, 20);
});

test("one that contains a key is not adopted, echoed or logged", async () => {
  for (const id of [key.text, `id ${key.text}`]) {
    const answer = await testEnv.send("/v1/intake", {
      method: "POST",
      body: {},
      localAddress: freshAddress(),
      headers: { "X-Request-Id": id },
    });
    assert.equal(answer.status, 401);
    assert.doesNotMatch(JSON.stringify(answer.headers) + answer.text, /lead_live_/);
  }
});

test("one with control characters is not adopted", async () => {
  for (const id of ["a\tb", "a\x7fb", "a\xc2\x85b"]) {
    const answer = await exchangeRaw(
      server.url,
      `GET /healthz HTTP/1.1\r\nHost: h\r\nX-Request-Id: ${id}\r\n\r\n`,
    );
    // The parser may refuse the request instead, but no response contains the character.
    assert.ok([200, 400].includes(answer.status));
    assert.ok(!answer.head.includes(id));
  }
});

test("non-ASCII bytes are echoed unchanged and are text in the body", async () => {
  const text = "Auftrag № 7 – 屋根";
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  const answer = await testEnv.send("/v1/nowhere", { headers: { "X-Request-Id": bytes } });
  assert.equal(answer.headers["x-request-id"], bytes);
  assert.equal(answer.json.request_id, text);
  await until(() => server.logs.some((line) => line.request_id === text));
});
