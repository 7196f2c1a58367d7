import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { afterEach, before, test } from "node:test";
import {
  buyerEmail,
  checkout,
  checkoutSettings,
  freshCheckoutKey,
  storefront,
} from "../support/plans/buyer.ts";
import { StripeServer } from "../support/plans/stripe_server.ts";
import { selfSigned } from "../support/authority.ts";
import { freshAddress, send } from "../support/client.ts";
import { temporaryFolder } from "../support/folder.ts";
import { ctl, type RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";
import { atEnd } from "../support/at_end.ts";

const stripe = await StripeServer.open();
const testEnv = await TestEnv.open();
const settings = checkoutSettings(stripe.url, stripe.secretKey);
const ways = { SITE_URL: "https://www.acme.example", CONTACT_EMAIL: "plans@acme.example" };
const server = await testEnv.start({ ...settings, ...ways });
const second = await testEnv.start(settings);
const on = { databaseUrl: testEnv.database.url };

before(async () => {
  await testEnv.sql`
    insert into plan (slug, name, customer, amount_cents, billing_interval, body) values
      ('basic', 'Basic', 'acme', 2900, 'month', '{"items":[]}'),
      ('free', 'Free', 'acme', 0, 'year', '{"items":[]}')`;
});
afterEach(() => stripe.clear());
atEnd(async () => {
  const leaked = [server, second].map(({ output }) => output.stdout + output.stderr).join("");
  const [row] = await testEnv.sql`
    select count(*)::int as count from subscription as s, provider_event as e
    where s::text ilike ${`%${buyerEmail}%`} or e::text ilike ${`%${buyerEmail}%`}`;
  assert.equal(row?.count, 0, "no address in the tables");
  for (const secret of [buyerEmail, stripe.secretKey, "whsec_", "Invalid API Key", "checkout.stripe.com"]) {
    assert.ok(!leaked.includes(secret), `no ${secret} in the log`);
  }
});

/** Posts until the address is limited: on a slow machine it earns further requests meanwhile. */
const untilLimited = (at: RunningServer, options: Parameters<typeof checkout>[1]) =>
  until(async () => {
    const answer = await checkout(at, options);
    return answer.status === 429 && answer;
  });

const rows = async () =>
  (await testEnv.sql`select count(*)::int as count from subscription`)[0]?.count as number;

test("POST /api/checkout/sessions answers 201 with the session's url, at our plan's price, to the allowed origin", async () => {
  const answer = await checkout(server, {
    body: { plan: "basic", email: ` ${buyerEmail} `, amount_cents: 1, interval: "day", currency: "jpy" },
  });
  assert.equal(answer.status, 201);
  assert.deepEqual(Object.keys(answer.json), ["url", "session_id"]);
  const session = stripe.sessions.get(answer.json.session_id);
  assert.equal(answer.json.url, session?.url);
  assert.equal(session?.customer_email, buyerEmail);
  const [call] = stripe.calls;
  assert.equal(call?.form["line_items[0][price_data][unit_amount]"], "2900");
  assert.equal(call?.form["line_items[0][price_data][recurring][interval]"], "month");
  assert.equal(call?.form["line_items[0][price_data][currency]"], "usd");
  assert.equal(answer.headers["access-control-allow-origin"], storefront);
  assert.equal(answer.headers["access-control-allow-credentials"], undefined);
  const [row] = await ctl(["subscription", "list", "--limit", "1"], on);
  const { created_at, updated_at, checkout: id, ...rest } = row;
  assert.ok(created_at <= updated_at);
  assert.equal(id, call?.headers["idempotency-key"]);
  assert.deepEqual(rest, {
    plan: "basic",
    customer: "acme",
    amount_cents: 2900,
    interval: "month",
    state: "open",
    session_id: answer.json.session_id,
    subscription_id: null,
    customer_id: null,
  });
});

const strangers = [
  null,
  "null",
  "",
  "*",
  "http://shop.example",
  "https://shop.example:443",
  "https://shop.example:8443",
  "https://www.shop.example",
  "https://shop.example/",
  "https://Shop.example",
  "HTTPS://shop.example",
  "https://shop.example.evil.example",
  "https://evil.example/https://shop.example",
  "https://evilshop.example",
  "https://shop.exampl",
  "https://a.shop.example",
  "https://shop.example, https://shop.example",
  "https://shop.example https://evil.example",
  "https://shop.example@evil.example",
];
test("any other or missing origin answers 403 origin_not_allowed without CORS headers and has no effect", async () => {
  const before = await rows();
  for (const origin of strangers) {
    for (const method of ["POST", "OPTIONS"]) {
      const answer = await checkout(server, { origin, method, headers: { Referer: `${storefront}/` } });
      assert.equal(answer.status, 403, `${method} ${origin}`);
      assert.equal(answer.json.error, "origin_not_allowed");
      for (const name of Object.keys(answer.headers)) assert.ok(!name.startsWith("access-control-"), name);
    }
  }
  assert.equal((await checkout(server, { origin: "https://www.shop.example:8443" })).status, 201);
  assert.equal(stripe.calls.length, 1);
  assert.equal(await rows(), before + 1);
});

test("a preflight answers 204 with the allowed methods and headers and spends no budget", async () => {
  const localAddress = freshAddress();
  for (let round = 0; round < 30; round += 1) {
    const answer = await checkout(server, {
      method: "OPTIONS",
      localAddress,
      headers: {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "idempotency-key",
      },
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers["access-control-allow-origin"], storefront);
    assert.equal(answer.headers["access-control-allow-methods"], "POST");
    assert.equal(
      answer.headers["access-control-allow-headers"],
      "Content-Type, Idempotency-Key, X-Request-Id",
    );
    assert.equal(answer.headers["access-control-max-age"], "300");
  }
  assert.equal((await checkout(server, { localAddress })).status, 201);
});

test("other methods answer 405 with Allow: POST, OPTIONS", async () => {
  for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
    const answer = await send(`${server.urls.subscription}/api/checkout/sessions`, {
      method,
      localAddress: freshAddress(),
      headers: { Origin: storefront },
    });
    assert.deepEqual([answer.status, answer.headers.allow], [405, "POST, OPTIONS"]);
  }
  assert.equal((await send(`${server.urls.subscription}/api/checkout`, { method: "POST" })).status, 404);
});

test("over its burst an address gets 429 with Retry-After, before the origin check", async () => {
  const alone = await testEnv.start(settings);
  const localAddress = freshAddress();
  const startMs = performance.now();
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429) {
    statuses.push((await checkout(alone, { localAddress, body: "" })).status);
  }
  const allowedCount = statuses.length - 1;
  const earned = (performance.now() - startMs) / 60_000 * 30;
  assert.ok(allowedCount >= 10 && allowedCount <= 10 + earned, `${allowedCount} allowed`);
  assert.deepEqual(new Set(statuses), new Set([400, 429]));
  const limited = await untilLimited(alone, { localAddress, origin: "https://evil.example" });
  assert.equal(limited.headers["access-control-allow-origin"], undefined);
  const allowed = await untilLimited(alone, { localAddress, body: "" });
  assert.equal(allowed.headers["access-control-allow-origin"], storefront);
  assert.ok(Number(allowed.headers["retry-after"]) >= 1);
  assert.equal(stripe.calls.length, 0);
});

test("invalid bodies answer 413 over 64 KiB, 400 for wrong types, and 422 naming every failing field", async () => {
  const before = await rows();
  assert.equal((await checkout(server, { body: " ".repeat(65_537) })).status, 413);
  for (
    const body of ["", "[]", "null", "{", "{plan:1}", { plan: 1, email: buyerEmail }, {
      plan: "basic",
      email: {},
    }]
  ) {
    const answer = await checkout(server, { body });
    assert.deepEqual([answer.status, answer.json.error], [400, "invalid_json"]);
  }
  const compressed = await checkout(server, { headers: { "Content-Encoding": "gzip" } });
  assert.deepEqual([compressed.status, compressed.json.error], [400, "invalid_json"]);
  for (
    const [body, fields] of [
      [{}, { plan: "required", email: "required" }],
      [{ plan: null, email: " " }, { plan: "required", email: "required" }],
      [{ plan: "x".repeat(101), email: `${"a".repeat(250)}@b.example` }, {
        plan: "too_long",
        email: "too_long",
      }],
      [{ plan: "basic", email: "ada" }, { email: "invalid" }],
      [{ plan: "basic", email: "a\u0000b@c.example" }, { email: "invalid" }],
      [{ plan: "basic", email: "a@b@c.example" }, { email: "invalid" }],
    ] as const
  ) {
    const answer = await checkout(server, { body });
    assert.deepEqual([answer.status, answer.json.error, answer.json.fields], [
      422,
      "validation_failed",
      fields,
    ]);
  }
  const long = await checkout(server, { headers: { "Idempotency-Key": "x".repeat(201) } });
  assert.deepEqual(long.json.fields, { "Idempotency-Key": "too_long" });
  for (const plan of ["none", "BASIC", "basic ", "' or 1=1", "__proto__"]) {
    const answer = await checkout(server, { body: { plan, email: buyerEmail } });
    assert.deepEqual([answer.status, answer.json.error], [422, "plan_not_found"]);
  }
  assert.equal(stripe.calls.length, 0);
  assert.equal(await rows(), before);
});

test("a repeated Idempotency-Key returns the same session on every node, even after a price change", async () => {
  const headers = freshCheckoutKey();
  const first = await checkout(server, { headers });
  assert.equal(first.status, 201);
  await testEnv.sql`update plan set amount_cents = 9900 where slug = 'basic'`;
  for (const node of [server, second]) {
    const again = await checkout(node, { headers });
    assert.equal(again.status, 200);
    assert.deepEqual(again.json, first.json);
  }
  await testEnv.sql`delete from plan where slug = 'basic'`;
  assert.deepEqual((await checkout(second, { headers })).json, first.json);
  await testEnv.sql`
    insert into plan (slug, name, customer, amount_cents, billing_interval, body)
    values ('basic', 'Basic', 'acme', 2900, 'month', '{"items":[]}')`;
  assert.equal(stripe.sessions.size, 1);
  for (const body of [{ plan: "free", email: buyerEmail }, { plan: "basic", email: "other@example.com" }]) {
    const conflict = await checkout(server, { headers, body });
    assert.deepEqual([conflict.status, conflict.json.error], [409, "idempotency_conflict"]);
  }
  const more = { plan: "basic", email: buyerEmail, note: "what is ignored makes no difference" };
  assert.equal((await checkout(server, { headers, body: more })).status, 200);
  assert.equal(stripe.sessions.size, 1);
});

test("two Idempotency-Key headers answer 400 invalid_json and open no session", async () => {
  const before = await rows();
  const answer = await checkout(server, { headers: { "Idempotency-Key": ["one", "two"] } });
  assert.deepEqual([answer.status, answer.json.error], [400, "invalid_json"]);
  assert.equal(await rows(), before);
});

test("without an Idempotency-Key every post opens a new session", async () => {
  await Promise.all([checkout(server), checkout(server)]);
  assert.equal(stripe.sessions.size, 2);
});

test("concurrent posts with one key open one session, on one node and across nodes", async () => {
  const headers = freshCheckoutKey();
  const release = stripe.hold();
  const posts = Array.from({ length: 12 }, (_, n) => checkout(n % 2 === 0 ? server : second, { headers }));
  // The other node is told that the key is in use and retries.
  await until(() => stripe.calls.length >= 2);
  release();
  const answers = await Promise.all(posts);
  assert.equal(stripe.sessions.size, 1);
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  for (const { status } of answers) assert.ok(status === 200 || status === 201, String(status));
});

test("while Stripe is unreachable the answer is 503, and the next post with the key resumes", async () => {
  const headers = freshCheckoutKey();
  // More faults than our tries, because Deno's client itself retries on a reused connection.
  stripe.fail({ kind: "reset_after" }, ...Array.from({ length: 20 }, () => ({ kind: "reset" }) as const));
  const failed = await checkout(server, { headers });
  stripe.fail();
  assert.deepEqual([failed.status, failed.json.error], [503, "checkout_unavailable"]);
  assert.equal(failed.headers["access-control-allow-origin"], storefront);
  const again = await checkout(second, { headers });
  assert.equal(again.status, 200);
  assert.deepEqual([...stripe.sessions.keys()], [again.json.session_id]);
});

const unavailable = ["checkout_unavailable", 503] as const;
for (
  const [what, fault, [code, status]] of [
    ["a wrong parameter", { status: 400, error: { type: "invalid_request_error", param: "mode" } }, [
      "provider_error",
      502,
    ]],
    ["402", { status: 402, error: { type: "card_error", code: "card_declined" } }, ["provider_error", 502]],
    [
      "a wrong key",
      { status: 401, error: { type: "invalid_request_error", message: "Invalid API Key" } },
      unavailable,
    ],
    [
      "a fault",
      { status: 500, error: { type: "api_error" }, headers: { "Stripe-Should-Retry": "false" } },
      unavailable,
    ],
    ["no session", { status: 200, text: "{}" }, ["provider_error", 502]],
  ] as const
) {
  test(`${what} at Stripe answers ${status} ${code}, is logged without values, and frees the key`, async () => {
    const headers = freshCheckoutKey();
    stripe.fail({ kind: "answer", ...fault });
    const failed = await checkout(server, { headers });
    assert.deepEqual([failed.status, failed.json.error], [status, code]);
    const line = await until(() =>
      server.logs.find(({ event, request_id }) =>
        event === "checkout_failed" && request_id === failed.headers["x-request-id"]
      )
    );
    assert.equal(line.status, fault.status);
    assert.equal((await checkout(server, { headers })).status, 201);
    const [first, next] = stripe.calls;
    assert.notEqual(first?.headers["idempotency-key"], next?.headers["idempotency-key"]);
  });
}

test("without a provider an allowed origin and the webhook get 503; without settings every origin gets 403", async () => {
  const { CHECKOUT_ORIGINS } = settings;
  const unpaid = await testEnv.start({ CHECKOUT_ORIGINS: CHECKOUT_ORIGINS as string });
  const answer = await checkout(unpaid);
  assert.deepEqual([answer.status, answer.json.error], [503, "checkout_unavailable"]);
  assert.equal((await checkout(unpaid, { origin: "https://evil.example" })).status, 403);
  const bare: RunningServer = await testEnv.start();
  assert.equal((await checkout(bare)).status, 403);
  const webhook = await send(`${bare.urls.subscription}/api/stripe/webhook`, { method: "POST", body: "{}" });
  assert.deepEqual([webhook.status, webhook.json.error], [503, "checkout_unavailable"]);
});

const shop = () => server.urls.subscription as string;

before(async () => {
  const body = {
    slug: "sold",
    name: "Sold",
    customer: "acme",
    amount_cents: 2900,
    interval: "month",
    items: [],
  };
  await testEnv.sql`
    select put_plans('{sold}', '{Sold}', '{acme}', '{2900}', '{month}', ${[JSON.stringify(body)]})`;
  await testEnv.sql`insert into tenant (slug, name, sandbox) values ('acme', 'Acme Roofing', false)`;
  await until(async () => (await send(`${shop()}/buy/sold`)).text.includes("Acme Roofing"));
});

/** Presses the button of a plan's page as a browser does. */
async function press(
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) {
  return await send(`${shop()}/buy/sold`, {
    method: "POST",
    localAddress: freshAddress(),
    body: new URLSearchParams(fields).toString(),
    headers: {
      "Content-Type": "application/x-www-form-urlencoded",
      "Origin": shop(),
      "Sec-Fetch-Site": "same-origin",
      ...headers,
    },
  });
}

async function freshOrder(): Promise<string> {
  const { status, headers, text } = await send(`${shop()}/buy/sold`);
  assert.equal(status, 200);
  assert.equal(headers["cache-control"], "no-store");
  assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
  assert.match(
    text,
    /<p class="by">by Acme Roofing<\/p>\n<p class="price"><strong>\$29\.00<\/strong> per month/,
  );
  assert.match(text, /<a href="https:\/\/www\.acme\.example\/plans\/">/);
  return /name="order" value="([^"]+)"/.exec(text)?.[1] as string;
}

test("a plan's page redirects to the payment provider, with one session however often the button is pressed", async () => {
  const order = await freshOrder();
  const before = await rows();
  const answers = await Promise.all([1, 2, 3].map(() => press({ email: buyerEmail, order })));
  for (const { status, headers } of answers) {
    assert.equal(status, 303);
    assert.equal(headers.location, [...stripe.sessions.values()].at(-1)?.url);
  }
  assert.equal(await rows(), before + 1);
  assert.notEqual(await freshOrder(), order, "another page is another order");
});

test("a plan's page keeps the input, shows the error and opens no session", async () => {
  const before = await rows();
  const { status, text } = await press({ email: `"><script>alert(1)</script>`, order: await freshOrder() });
  assert.equal(status, 422);
  assert.match(text, /role="alert"/);
  assert.match(text, /value="&quot;&gt;&lt;script&gt;/);
  assert.doesNotMatch(text, /<script>/);
  assert.equal(await rows(), before);
});

test("a browser can press the button over HTTP/2, which sends no Host", async () => {
  const { certFile, keyFile } = selfSigned(temporaryFolder("checkout-tls"), "shop");
  const secure = await testEnv.start({ ...settings, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
  const origin = secure.urls.subscription as string;
  const session = connectHttp2(origin, { ca: readFileSync(certFile) });
  const pressFrom = async (page: string) => {
    // First, because a refusal does not wait for the body.
    const body = new URLSearchParams({ email: buyerEmail, order: await freshOrder() }).toString();
    const stream = session.request({
      ":method": "POST",
      ":path": "/buy/sold",
      "origin": page,
      "sec-fetch-site": "same-origin",
      "content-type": "application/x-www-form-urlencoded",
    });
    stream.end(body);
    const [headers] = await once(stream, "response");
    return headers[":status"];
  };
  try {
    assert.equal(await pressFrom(origin), 303);
    assert.equal(await pressFrom(storefront), 403);
  } finally {
    session.destroy();
  }
});

test("only the plan's own page may post its form", async () => {
  const order = await freshOrder();
  const before = await rows();
  const strangers: Readonly<Record<string, string>>[] = [
    { Origin: storefront, "Sec-Fetch-Site": "cross-site" },
    { Origin: "null" },
    { "Sec-Fetch-Site": "cross-site" },
  ];
  for (const headers of strangers) {
    assert.equal((await press({ email: buyerEmail, order }, headers)).status, 403);
  }
  assert.equal(await rows(), before);
  const wrong = await send(`${shop()}/buy/sold`, { method: "DELETE", localAddress: freshAddress() });
  assert.deepEqual([wrong.status, wrong.headers.allow], [405, "GET, HEAD, POST"]);
});

test("a plan's page that cannot sell links to itself, to all plans and to the contact", async () => {
  const unsold: RunningServer = await testEnv.start(ways);
  const pages = {
    "Nothing is for sale here": await send(`${unsold.urls.subscription}/buy/sold`),
    "This plan does not exist": await send(`${shop()}/buy/nothing`),
    "The form was sent from another site": await press({}, { Origin: storefront }),
  };
  stripe.fail({ kind: "answer", status: 500, error: {}, headers: { "Stripe-Should-Retry": "false" } });
  const unavailable = await press({ email: buyerEmail, order: await freshOrder() });
  const linksOf = (text: string) => [...text.matchAll(/<a href="([^"]*)">/g)].map(([, href]) => href);
  const further = [`${ways.SITE_URL}/plans/`, `mailto:${ways.CONTACT_EMAIL}`];
  for (
    const [title, { status, text }] of Object.entries({
      ...pages,
      "Payment is unavailable at the moment": unavailable,
    })
  ) {
    assert.ok(status >= 400 && text.includes(`<h1>${title}</h1>`), text);
    const isBack = !/^(Nothing|This plan)/.test(title);
    assert.deepEqual(linksOf(text), [...(isBack ? [""] : []), ...further], title);
  }
});
