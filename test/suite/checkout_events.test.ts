import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import {
  buyerEmail,
  checkout,
  checkoutSettings,
  deliver,
  eventText,
  freshCheckoutKey,
  signature,
  webhookSecrets,
} from "../support/plans/buyer.ts";
import { StripeServer } from "../support/plans/stripe_server.ts";
import { send } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv } from "../support/test_env.ts";

const own = await ownPostgres();
const stripe = await StripeServer.open();
const testEnv = await TestEnv.open(own.url);
testEnv.expectLogged("totals_kept");
const settings = checkoutSettings(stripe.url, stripe.secretKey);
const server = await testEnv.start(settings);
const second = await testEnv.start(settings);
const on = { databaseUrl: testEnv.database.url };
await testEnv.sql`
  insert into plan (slug, name, customer, amount_cents, billing_interval, body)
  values ('basic', 'Basic', 'acme', 2900, 'month', '{"items":[]}')`;

let time = 1_800_000_000;
let made = 0;

/** Opens a checkout and returns builders for its events. */
async function buy() {
  const headers = freshCheckoutKey();
  const { json } = await checkout(server, { headers });
  const [row] = await testEnv.sql`select id from subscription where session_id = ${json.session_id}`;
  const id = row?.id as string;
  made += 1;
  const ids = { subscription: `sub_${made}`, customer: `cus_${made}` };
  const metadata = { plan: "basic", checkout: id };
  const session = (members: object = {}) => ({
    ...stripe.sessions.get(json.session_id),
    object: "checkout.session",
    status: "complete",
    payment_status: "paid",
    ...ids,
    customer_details: { email: buyerEmail },
    ...members,
  });
  const subscription = (status: string) => ({
    id: ids.subscription,
    object: "subscription",
    customer: ids.customer,
    metadata,
    status,
  });
  const invoice = (reason = "subscription_cycle") => ({
    id: `in_${made}`,
    object: "invoice",
    customer: ids.customer,
    customer_email: buyerEmail,
    billing_reason: reason,
    parent: {
      type: "subscription_details",
      subscription_details: { subscription: ids.subscription, metadata },
    },
  });
  const state = async () =>
    (await testEnv
      .sql`select state, provider_subscription_id, provider_customer_id from subscription where id = ${id}`)[
        0
      ];
  return { id, headers, sessionId: json.session_id as string, ids, session, subscription, invoice, state };
}

/** Delivers an event that is a second younger than the previous one. */
async function tell(type: string, object: object, created = ++time) {
  const answer = await deliver(server, eventText(type, object, { created }));
  assert.deepEqual([answer.status, answer.text], [200, '{"received":true}']);
}

/** Returns the outcomes of an event on both nodes. */
const outcomes = (eventId: string) =>
  [server, second].flatMap(({ logs }) => logs).filter(({ event_id }) => event_id === eventId)
    .map(({ outcome }) => String(outcome)).sort();

test("each event moves the subscription on: open, paid, renewed, past due, paid again, canceled", async () => {
  const sale = await buy();
  assert.equal((await sale.state())?.state, "open");
  await tell("checkout.session.completed", sale.session());
  assert.deepEqual({ ...await sale.state() }, {
    state: "active",
    provider_subscription_id: sale.ids.subscription,
    provider_customer_id: sale.ids.customer,
  });
  await tell("invoice.paid", sale.invoice());
  assert.equal((await sale.state())?.state, "active");
  await tell("invoice.payment_failed", sale.invoice());
  await tell("customer.subscription.updated", sale.subscription("past_due"));
  assert.equal((await sale.state())?.state, "past_due");
  await tell("invoice.paid", sale.invoice());
  assert.equal((await sale.state())?.state, "active");
  await tell("customer.subscription.deleted", sale.subscription("canceled"));
  assert.equal((await sale.state())?.state, "canceled");
  await tell("customer.subscription.updated", sale.subscription("active"));
  assert.equal((await sale.state())?.state, "canceled", "what has ended has ended");
  const listed: { checkout: string }[] = await ctl(["subscription", "list"], on);
  assert.partialDeepStrictEqual(listed.find(({ checkout }) => checkout === sale.id), {
    state: "canceled",
    subscription_id: sale.ids.subscription,
  });
});

test("events in any order end in the same state", async () => {
  const first = ++time;
  const events = (sale: Awaited<ReturnType<typeof buy>>) =>
    [
      ["customer.subscription.created", sale.subscription("incomplete"), first],
      ["customer.subscription.updated", sale.subscription("active"), first],
      ["invoice.paid", sale.invoice("subscription_create"), first],
      ["checkout.session.completed", sale.session(), first + 1],
      ["customer.subscription.updated", sale.subscription("past_due"), first + 100],
      ["customer.subscription.updated", sale.subscription("active"), first + 200],
    ] as const;
  const orders = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 1, 0, 2, 5, 4], [2, 5, 0, 4, 1, 3], [
    4,
    3,
    5,
    0,
    1,
    2,
  ]];
  for (const order of orders) {
    const sale = await buy();
    const all = events(sale);
    for (const index of order) {
      const [type, object, created] = all[index] as (typeof all)[number];
      await tell(type, object, created);
    }
    assert.deepEqual({ ...await sale.state() }, {
      state: "active",
      provider_subscription_id: sale.ids.subscription,
      provider_customer_id: sale.ids.customer,
    }, String(order));
  }
  time += 300;
});

test("an event is applied once, on any node, even when it arrives concurrently", async () => {
  const sale = await buy();
  const body = eventText("checkout.session.completed", sale.session(), { created: ++time });
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => deliver(n % 2 === 0 ? server : second, body)),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const [row] = await testEnv.sql`select count(*)::int as count from provider_event where event_id = ${
    JSON.parse(body).id
  }`;
  assert.equal(row?.count, 1);
  const { id } = JSON.parse(body);
  await until(() => outcomes(id).length === 10);
  assert.deepEqual(outcomes(id), ["applied", ...Array(9).fill("duplicate")]);
  assert.equal((await sale.state())?.state, "active");
});

test("other types and unknown subscriptions answer 200 and change nothing; copied metadata makes a separate subscription", async () => {
  const sale = await buy();
  await tell("checkout.session.completed", sale.session());
  const before = await testEnv.sql`select * from subscription order by id`;
  await tell("customer.created", { id: "cus_x", email: buyerEmail });
  await tell("customer.subscription.updated", {
    id: "sub_x",
    customer: "cus_x",
    status: "canceled",
    metadata: {},
  });
  await tell("customer.subscription.deleted", { ...sale.subscription("canceled"), id: "sub_copy" });
  assert.deepEqual(await testEnv.sql`select * from subscription order by id`, before);
});

test("any signature but Stripe's answers 400 invalid_signature, whatever the origin, and stores nothing", async () => {
  const sale = await buy();
  const body = eventText("checkout.session.completed", sale.session(), { created: ++time });
  const right = signature(body);
  for (
    const header of [
      "",
      signature(body, { secret: webhookSecrets.join(",") }),
      signature(body, { time: Math.floor(Date.now() / 1000) - 400 }),
      signature(`${body} `),
    ]
  ) {
    const answer = await deliver(server, body, header);
    assert.deepEqual([answer.status, answer.json.error], [400, "invalid_signature"], header);
  }
  assert.equal((await deliver(server, body.replace("cus_", "cus_9"), right)).status, 400);
  assert.equal((await sale.state())?.state, "open");
  const [row] = await testEnv.sql`select count(*)::int as count from provider_event where event_id = ${
    JSON.parse(body).id
  }`;
  assert.equal(row?.count, 0);
  assert.equal((await deliver(server, body, signature(body, { secret: webhookSecrets[1] }))).status, 200);
  assert.equal((await sale.state())?.state, "active");
});

test("the webhook answers 405 to GET, 400 to a signed non-event, and 413 over 512 KiB", async () => {
  const url = `${server.urls.subscription}/api/stripe/webhook`;
  const got = await send(url);
  assert.deepEqual([got.status, got.headers.allow], [405, "POST"]);
  for (const body of ["", "[]", "{}x", '{"object":"event"}']) {
    const answer = await deliver(server, body);
    assert.deepEqual([answer.status, answer.json.error], [400, "invalid_json"], body);
  }
  const large = eventText("customer.updated", { description: "x".repeat(500_000) });
  assert.equal((await deliver(server, large)).status, 200);
  assert.equal((await deliver(server, large + " ".repeat(30_000))).status, 413);
});

test("of large events 64 are read at once and more get 503, while small ones are accepted", async () => {
  const { hostname, port } = new URL(server.urls.subscription as string);
  const strangers = Array.from({ length: 65 }, () => {
    const socket = connect({ host: hostname, port: Number(port) }).on("error", () => {});
    socket.write(`POST /api/stripe/webhook HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 400000\r\n\r\n{`);
    return socket;
  });
  const refused = await Promise.race(
    strangers.map(async (socket) => String((await once(socket, "data"))[0])),
  );
  assert.match(refused, /^HTTP\/1\.1 503 /);
  const large = eventText("customer.updated", { description: "x".repeat(100_000) });
  const other = await deliver(server, large);
  assert.deepEqual([other.status, other.json.error], [503, "not_accepting"]);
  await until(async () => (await deliver(server, eventText("customer.updated", {}))).status === 200);
  for (const socket of strangers) socket.destroy();
  await until(async () => (await deliver(server, large)).status === 200);
});

test("while the store is unavailable events and checkouts answer 503, and are accepted again afterwards", async () => {
  const sale = await buy();
  const body = eventText("checkout.session.completed", sale.session(), { created: ++time });
  own.freeze();
  const [event, post] = await Promise.all([deliver(server, body), checkout(server)]);
  assert.deepEqual([event.status, event.json.error], [503, "not_accepting"]);
  assert.deepEqual([post.status, post.json.error], [503, "checkout_unavailable"]);
  own.thaw();
  await until(async () => (await deliver(server, body)).status === 200);
  assert.equal((await sale.state())?.state, "active");
});

test("old keys, addresses and unpaid checkouts are deleted in time, subscriptions are kept", async () => {
  const [paid, left, recent] = [await buy(), await buy(), await buy()];
  await tell("checkout.session.completed", paid.session());
  await testEnv.sql`
    update subscription set created_at = created_at - interval '41 days',
      session_expires_at = session_expires_at - interval '40 days'
    where id in ${testEnv.sql([paid.id, left.id])}`;
  await testEnv.sql`update provider_event set received_at = received_at - interval '41 days'`;
  await testEnv.sql`select forget_checkouts(24, 40)`;
  const kept = await testEnv.sql`
    select id, state, key_digest is null as forgot_key, session_url is null as forgot_url from subscription
    where id in ${testEnv.sql([paid.id, left.id, recent.id])} order by created_at`;
  assert.deepEqual(kept.map((row) => ({ ...row })), [
    { id: paid.id, state: "active", forgot_key: true, forgot_url: true },
    { id: recent.id, state: "open", forgot_key: false, forgot_url: false },
  ]);
  const [row] = await testEnv.sql`select count(*)::int as count from provider_event`;
  assert.equal(row?.count, 0);
});
