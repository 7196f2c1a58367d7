import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { type LeadsError, MisconfiguredError, RefusedError } from "../src/index.ts";
import { relay, type RelayOptions } from "../src/relay.ts";
import { acknowledgement, key, type Script, startIntake } from "./intake.ts";

const origin = "https://www.example.com";
const pageKey = "0123456789abcdef0123456789abcdef";
const lead = { first_name: "Ada", last_name: "Lovelace", phone: "+14155550100" };

async function open(t: TestContext, script: Script, options: Partial<RelayOptions> = {}) {
  const intake = await startIntake(script);
  t.after(() => intake.stop());
  const answer = relay({
    key,
    baseUrl: intake.url,
    origins: [origin],
    fields: Object.keys(lead),
    namespace: "www",
    clock: { now: () => performance.now(), sleep: () => Promise.resolve() },
    ...options,
  });
  return { answer, intake };
}

function post(
  body: BodyInit | object = lead,
  headers: Record<string, string> = {},
  init: RequestInit = {},
): Request {
  return new Request("https://edge.example/lead", {
    method: "POST",
    headers: { origin, "content-type": "application/json", "idempotency-key": pageKey, ...headers },
    body: typeof body === "string" || body instanceof ReadableStream ? body : JSON.stringify(body),
    ...init,
  });
}

test("a page's lead is posted with the relay's key, and with the page's idempotency key in its namespace", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement());
  const response = await answer(post());
  assert.equal(response.status, 202);
  assert.deepEqual(await response.json(), { status: "accepted" });
  assert.equal(response.headers.get("access-control-allow-origin"), origin);
  assert.equal(response.headers.get("vary"), "Origin");
  const [arrived] = intake.posts;
  assert.equal(arrived?.headers["x-api-key"], key);
  assert.equal(arrived.headers["idempotency-key"], `www:${pageKey}`);
  assert.deepEqual(JSON.parse(arrived.body), lead);
});

test("another origin is answered 403 and no post is made, whatever it asks", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement());
  const others = [
    "https://evil.example",
    "null",
    "http://www.example.com",
    `${origin}.evil.example`,
    `${origin}:444`,
  ];
  for (const other of others) {
    for (const method of ["POST", "OPTIONS", "GET"]) {
      const headers = { origin: other };
      const request = method === "POST"
        ? post(lead, headers)
        : new Request("https://edge.example/", { method, headers });
      const response = await answer(request);
      assert.equal(response.status, 403);
      assert.equal(response.headers.get("access-control-allow-origin"), null);
    }
  }
  const without = new Request("https://edge.example/lead", { method: "POST", body: "{}" });
  assert.equal((await answer(without)).status, 403);
  assert.equal(intake.posts.length, 0);
});

test("a preflight of a page is answered with what it may send", async (t) => {
  const { answer } = await open(t, () => acknowledgement());
  const response = await answer(
    new Request("https://edge.example/", { method: "OPTIONS", headers: { origin } }),
  );
  assert.equal(response.status, 204);
  assert.equal(response.headers.get("access-control-allow-origin"), origin);
  assert.equal(response.headers.get("access-control-allow-methods"), "POST");
  assert.equal(response.headers.get("access-control-allow-headers"), "content-type, idempotency-key");
});

test("what is not a page's post goes no further", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement(), { bodyBytesMax: 200 });
  const endless = () =>
    new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("[".repeat(100)));
      },
    });
  const cases: [Request, number][] = [
    [new Request("https://edge.example/", { headers: { origin } }), 405],
    [post(lead, {}, { method: "PUT" }), 405],
    [post(lead, { "content-type": "text/plain" }), 415],
    [post(lead, { "content-type": "application/jsonp" }), 415],
    [post(lead, { "idempotency-key": "short" }), 400],
    [post(lead, { "idempotency-key": `${pageKey}:1` }), 400],
    [post("x".repeat(201)), 413],
    [post(endless(), {}, { duplex: "half" } as RequestInit), 413],
    [post("["), 400],
    [post("[]"), 400],
    [post("null"), 400],
  ];
  for (const [request, status] of cases) {
    const response = await answer(request);
    assert.equal(response.status, status);
    assert.deepEqual(await response.json(), { status: "refused" });
    if (status === 405) assert.equal(response.headers.get("allow"), "POST, OPTIONS");
  }
  assert.equal(intake.posts.length, 0);
});

test("a field that is not on the list, or is no text, is refused and nothing is posted", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement());
  const body = '{"phone":{"a":1},"first_name":"Ada","cost":5,"__proto__":"x","constructor":"y"}';
  const response = await answer(post(body));
  assert.equal(response.status, 422);
  assert.equal(
    await response.text(),
    '{"status":"refused","fields":{"phone":"not_allowed","cost":"not_allowed","__proto__":"not_allowed","constructor":"not_allowed"}}',
  );
  assert.equal(intake.posts.length, 0);
});

test("the operator hears of what the relay itself refuses, and nothing of its content", async (t) => {
  const errors: LeadsError[] = [];
  const { answer } = await open(t, () => acknowledgement(), {
    onError: (error) => void errors.push(error),
    bodyBytesMax: 200,
  });
  const secret = "Lovelace";
  const cases: [Request, RegExp][] = [
    [post(lead, { origin: `https://${secret}.example` }), /403: its origin/],
    [post(lead, {}, { method: "PUT" }), /405/],
    [post(lead, { "content-type": secret }), /415/],
    [post(lead, { "idempotency-key": secret }), /400: it has no idempotency key/],
    [post(JSON.stringify(secret)), /400: its body/],
    [post(secret.repeat(30)), /413/],
    [post({ ...lead, [secret]: secret }), /422: it has a field that is not on the relay's list/],
  ];
  for (const [request, message] of cases) {
    await answer(request);
    const error = errors.pop();
    assert.ok(error instanceof RefusedError);
    assert.match(error.message, message);
    assert.deepEqual([error.kind, error.status, error.requestId], ["refused", null, null]);
    assert.ok(!(inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)).includes(secret));
    assert.equal(errors.length, 0);
  }
});

test("what would be posted as something else is refused", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement());
  const latin = new Uint8Array([...new TextEncoder().encode('{"first_name":"'), 0xe9, 0x22, 0x7d]);
  const cases: [BodyInit, number][] = [
    [new Blob([latin]).stream(), 400],
    ['{"phone":1e400}', 422],
    ['{"phone":12345678901234567890}', 422],
  ];
  for (const [body, status] of cases) {
    const response = await answer(post(body, {}, { duplex: "half" } as RequestInit));
    assert.equal(response.status, status);
    assert.equal((await response.json()).status, "refused");
  }
  assert.equal(intake.posts.length, 0);
  assert.equal(
    (await answer(post('{"phone":9007199254740991,"first_name":true,"last_name":1.5}'))).status,
    202,
  );
});

test("a body that comes too slowly is read no further, and may be sent again", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement(), { deadlineMs: 50 });
  let cancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => void (cancelled = true),
  });
  const response = await answer(post(body, {}, { duplex: "half" } as RequestInit));
  assert.equal(response.status, 408);
  assert.deepEqual(await response.json(), { status: "try_later" });
  assert.ok(cancelled);
  assert.equal(intake.posts.length, 0);
});

test("the post has what the body left of the one deadline", { timeout: 5_000 }, async (t) => {
  const { answer } = await open(t, () => new Promise(() => {}), { deadlineMs: 10_000 });
  const { now } = performance;
  let lateMs = 0;
  performance.now = () => now.call(performance) + lateMs;
  t.after(() => {
    performance.now = now;
  });
  const body = new ReadableStream({
    pull(controller) {
      lateMs = 9_900;
      controller.enqueue(new TextEncoder().encode(JSON.stringify(lead)));
      controller.close();
    },
  }, { highWaterMark: 0 });
  const response = await answer(post(body, {}, { duplex: "half" } as RequestInit));
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { status: "try_later" });
});

test("an answer is turned into what a page needs, and tells nothing else", async (t) => {
  const says = (status: number, body: object) => () => ({
    status,
    body: { ...body, request_id: "upstream" },
  });
  const invalid = {
    error: "validation_failed",
    fields: { phone: "required", secret: "Ada", first_name: key },
  };
  const cases: [Script, number, object, string | null][] = [
    [
      says(200, { ...acknowledgement().body as object, status: "duplicate" }),
      200,
      { status: "duplicate" },
      null,
    ],
    [says(422, invalid), 422, { status: "invalid", fields: { phone: "required" } }, null],
    [
      says(422, { error: "validation_failed", fields: { zip: "required" } }),
      502,
      { status: "refused" },
      "invalid_lead",
    ],
    [says(503, { error: "not_accepting" }), 503, { status: "try_later" }, "unavailable"],
    [says(401, { error: "unauthorized" }), 502, { status: "refused" }, "unauthorized"],
    [says(400, { error: "invalid_json" }), 502, { status: "refused" }, "refused"],
    [() => null, 503, { status: "try_later" }, "unavailable"],
  ];
  for (const [script, status, told, kind] of cases) {
    const errors: LeadsError[] = [];
    const { answer, intake } = await open(t, script, { onError: (error) => void errors.push(error) });
    const response = await answer(post());
    assert.equal(response.status, status);
    const text = await response.text();
    assert.deepEqual(JSON.parse(text), told);
    assert.deepEqual(errors.map((error) => error.kind), kind === null ? [] : [kind]);
    const all = text + JSON.stringify([...response.headers]);
    for (const secret of [key, intake.url, "upstream", "evt_1", "leads-js"]) {
      assert.ok(!all.includes(secret), all);
    }
  }
});

test("the post outlives the request that brought it", async (t) => {
  const { answer, intake } = await open(t, () => acknowledgement());
  const kept: Promise<unknown>[] = [];
  const gone = new AbortController();
  const response = answer(post(lead, {}, { signal: gone.signal }), {
    waitUntil: (promise) => {
      kept.push(promise);
      gone.abort();
    },
  });
  assert.equal((await response).status, 202);
  assert.equal(kept.length, 1);
  await Promise.all(kept);
  assert.equal(intake.posts.length, 1);
});

test("an onError or a waitUntil that throws or rejects changes no answer", async (t) => {
  const faults = [
    () => {
      throw new Error("Nobody is there");
    },
    () => Promise.reject(new Error("Nobody is there")),
  ];
  for (const onError of faults) {
    const { answer } = await open(t, () => ({ status: 401 }), { onError });
    assert.equal((await answer(post())).status, 502);
    assert.equal((await answer(post("["))).status, 400);
  }
  const { answer } = await open(t, () => acknowledgement());
  const waitUntil = () => {
    throw new TypeError("Illegal invocation");
  };
  assert.equal((await answer(post(), { waitUntil })).status, 202);
});

test("a relay that cannot be right is not made", () => {
  const right: RelayOptions = {
    key,
    baseUrl: "https://intake.example",
    origins: [origin, "http://localhost:8080"],
    fields: ["phone"],
    namespace: "www",
  };
  relay(right);
  const wrong: Record<string, unknown>[] = [
    { origins: origin },
    { origins: undefined },
    { origins: [5] },
    { fields: "phone" },
    { fields: undefined },
    { fields: ["phone", ""] },
    { bodyBytesMax: NaN },
    { bodyBytesMax: Infinity },
    { bodyBytesMax: 0 },
    { bodyBytesMax: "200" },
    { deadlineMs: NaN },
    { onError: "console" },
    { namespace: undefined },
    { origins: [] },
    { origins: ["*"] },
    { origins: [`${origin}/`] },
    { origins: ["http://www.example.com"] },
    { fields: [] },
    { namespace: " " },
    { namespace: "x".repeat(136) },
    { key: "lead_test_" },
  ];
  for (const options of wrong) assert.throws(() => relay({ ...right, ...options }), MisconfiguredError);
});
