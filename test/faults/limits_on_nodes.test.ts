/**
 * Limits that four processes share, two on Node and two on Deno.
 *
 * Each limit is a burst that takes a quarter of an hour to earn, so that what is allowed does not depend on how long a
 * test takes; what is earned meanwhile is reckoned with.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { get, post } from "../support/client.ts";
import { asService, ownPostgres } from "../support/database.ts";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { type IssuedKey, visitor, World } from "../support/world.ts";

const perMinute = 6;
const burst = 90;
const rate = (name: string) => ({
  [`${name}_PER_MINUTE`]: String(perMinute),
  [`${name}_BURST`]: String(burst),
});
// 2 % of a minute's are less than two: a token for each node.
const tolerance = 4;

/** The most that may be allowed since a time: what a minute earns may be allowed before it is earned. */
function most(sinceMs: number): number {
  const earned = (performance.now() - sinceMs) / 60_000 * perMinute;
  return burst + Math.max(perMinute, earned) + tolerance;
}

const own = await ownPostgres();
const world = await World.open(own.url);
let servers: RunningServer[];

before(async () => {
  const env = { ...rate("INTAKE_KEY"), ...rate("FORMS_TENANT") };
  const start = (runtime: "node" | "deno") => world.start(env, { runtime, databaseUrl: asService(own.url) });
  // One after the other: on a busy machine each takes a while to start.
  servers = [await start("node"), await start("node"), await start("deno"), await start("deno")];
  await knowEachOther(servers);
});

/** A figure of a process. */
async function figure(server: RunningServer, name: string): Promise<number> {
  const { text } = await get(`${server.urls.ops}/metrics`);
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

async function knowEachOther(all: readonly RunningServer[]): Promise<void> {
  await until(async () => {
    const nodes = await Promise.all(all.map((server) => figure(server, "lead_limit_nodes")));
    return nodes.every((count) => count === all.length);
  }, { what: `${all.length} processes know one another` });
}

/** How often each process has asked for its shares. */
async function exchanges(): Promise<number[]> {
  return await Promise.all(servers.map((server) => figure(server, "lead_limit_exchanges_total")));
}

/** Sends until nothing is allowed any more at any node, however often they ask; says how many were allowed. */
async function exhaust(
  send: (server: RunningServer) => Promise<number>,
  spread: (n: number) => readonly number[],
): Promise<{ allowed: number; bound: number }> {
  const startMs = performance.now();
  let allowed = 0;
  let before = await exchanges();
  for (let n = 0;; n += 1) {
    // At first as the spread says, then everywhere, so that nothing is left that some node could allow.
    const places = n < burst ? spread(n) : [0, 1, 2, 3];
    const answers = await Promise.all(places.map((place) => send(servers[place] as RunningServer)));
    const count = answers.filter((status) => status !== 429).length;
    allowed += count;
    if (count > 0) before = await exchanges();
    else if (n > burst && (await exchanges()).every((times, node) => times >= Number(before[node]) + 4)) {
      break;
    }
  }
  return { allowed, bound: most(startMs) };
}

const spreads: Readonly<Record<string, (n: number) => readonly number[]>> = {
  "all at one node": () => [1],
  "at all of them in turns": (n) => [n % 4],
  "at all of them at once": () => [0, 1, 2, 3],
  "most at one, some at the others": (n) => [n % 5 === 0 ? 1 + n % 3 : 0],
};

for (const [spread, places] of Object.entries(spreads)) {
  test(`the budget of a key holds over four processes, ${spread}`, async () => {
    const key = await world.issue();
    const send = async (server: RunningServer) =>
      (await post(`${server.url}/v1/intake`, { key: key.text, body: {} })).status;
    const { allowed, bound } = await exhaust(send, places);
    assert.ok(allowed <= bound, `${allowed} allowed, ${bound} at most`);
    assert.ok(allowed >= burst - tolerance, `${allowed} allowed`);
  });
}

test("the budget of a customer's forms holds over four processes", async () => {
  const { form, key } = await world.formWithKey();
  const path = `/v1/forms/${form.tenant.slug}/${form.formKey}`;
  const send = async (server: RunningServer) =>
    (await post(`${server.urls.forms}${path}`, { key: key.text, body: visitor() })).status;
  const { allowed, bound } = await exhaust(send, (n) => [n % 4]);
  assert.ok(allowed <= bound && allowed >= burst - tolerance, `${allowed} allowed, ${bound} at most`);
});

test("whoever stays below the rate is refused nothing, wherever requests go, and the headers tell what is left there", async () => {
  const key = await world.issue();
  await world.sql`
    update api_key set limit_per_minute = 600000, limit_burst = 101, limit_until = now() + interval '1 hour'
    where id = ${key.id}`;
  for (let n = 0; n < 400; n += 1) {
    const server = servers[Math.floor(n / 3) % 4] as RunningServer;
    const answer = await post(`${server.url}/v1/intake`, { key: key.text, body: {} });
    assert.equal(answer.status, 422, `request ${n}`);
    assert.match(String(answer.headers["ratelimit-policy"]), /"key";q=600000;w=60$/);
    const [, left] = /"key";r=(\d+);/.exec(String(answer.headers.ratelimit)) ?? [];
    assert.ok(Number(left) < 101);
  }
});

test("the budget of an address holds over four processes; while the store stands still each allows an equal share and no more, and afterwards there is no second budget", async () => {
  const stopped = await addressServers();
  const localAddress = "127.40.0.1";
  const send = async (server: RunningServer) =>
    (await post(`${server.url}/v1/intake`, { localAddress })).status;
  const startMs = performance.now();
  let allowed = 0;
  const sendTo = async (all: readonly RunningServer[], times: number) => {
    let now = 0;
    for (let n = 0; n < times; n += 1) {
      for (const server of all) if (await send(server) !== 429) now += 1;
    }
    allowed += now;
    return now;
  };
  await sendTo(stopped, 4);
  const leased = 'lead_limit_leases{state="leased"}';
  const alone = 'lead_limit_leases{state="alone"}';
  await until(async () => {
    // Each time: what is not used is let go, at one of them maybe before another has its first answer.
    await sendTo(stopped, 1);
    return (await Promise.all(stopped.map((server) => figure(server, leased)))).every(Boolean);
  }, { what: "each has a lease" });
  own.freeze();
  await until(async () => {
    await sendTo(stopped, 1);
    return (await Promise.all(stopped.map((server) => figure(server, alone)))).every(Boolean);
  }, { what: "each process finds itself alone" });
  const atOne = await sendTo([stopped[0] as RunningServer], 60);
  assert.ok(atOne <= burst / 4 + 1, `${atOne} at one process`);
  await sendTo(stopped, 40);
  assert.ok(allowed <= most(startMs), `${allowed} while the store stands still`);
  own.thaw();
  // Until each has told what it has spent meanwhile, the store knows of a part: nothing is asked for so long.
  await until(
    async () =>
      (await Promise.all(stopped.map((server) => figure(server, alone)))).every((count) => count === 0),
    { what: "the store answers again" },
  );
  allowed += (await exhaust(send, () => [0, 1, 2, 3])).allowed;
  assert.ok(allowed <= most(startMs), `${allowed} in all`);
  assert.ok(allowed >= burst - tolerance, `${allowed} in all`);
});

/** Four others, that limit addresses. */
async function addressServers(): Promise<RunningServer[]> {
  for (const server of servers) await server.stop();
  const start = (runtime: "node" | "deno") =>
    world.start(rate("INTAKE_IP"), { runtime, databaseUrl: asService(own.url) });
  const started = [await start("node"), await start("node"), await start("deno"), await start("deno")];
  await knowEachOther(started);
  servers = started;
  return started;
}

test("when the others have gone, the one that stays has the whole budget again, and asks the store for nothing more", async () => {
  const [last, ...others] = servers as [RunningServer, ...RunningServer[]];
  for (const server of others) await server.stop();
  await until(async () => await figure(last, "lead_limit_nodes") === 1, { what: "it is alone" });
  // It begins to ask no more; what it asked just before it knew may still be answered.
  await until(async () => await asking() === 0, { what: "it asks nothing" });
  const before = await figure(last, "lead_limit_exchanges_total");
  const localAddress = "127.40.0.2";
  const statuses = [];
  for (let n = 0; n < burst + 20; n += 1) {
    statuses.push((await post(`${last.url}/v1/intake`, { localAddress })).status);
  }
  const allowed = statuses.filter((status) => status !== 429).length;
  assert.ok(allowed >= burst && allowed < burst + 20, String(allowed));
  assert.equal(await figure(last, "lead_limit_exchanges_total"), before);
});

/** Connections over which shares are asked for right now. */
async function asking(): Promise<number> {
  const [row] = await world.sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name like '%limits' and state = 'active'`;
  return row?.count ?? 0;
}

test("a process that was never with others has asked for no share, and has no connection for it", async () => {
  for (const server of servers) await server.stop();
  await until(async () => {
    const [row] = await world.sql`
      select count(*)::int as n from limit_node where seen_at > service_clock() - interval '3 seconds'`;
    return row?.n === 0;
  }, { what: "nobody is there" });
  const server = await world.start(rate("INTAKE_KEY"), { databaseUrl: asService(own.url) });
  const key: IssuedKey = await world.issue();
  for (let n = 0; n < 2 * burst; n += 1) await post(`${server.url}/v1/intake`, { key: key.text, body: {} });
  assert.equal(await figure(server, "lead_limit_exchanges_total"), 0);
  // Those of the processes before may end a moment later than they.
  await until(async () => {
    const [row] = await world.sql`
      select count(*) filter (where application_name like '%limits')::int as limits,
        count(*) filter (where application_name like '%heartbeat')::int as heartbeats
      from pg_stat_activity where datname = current_database()`;
    assert.deepEqual({ ...row }, { limits: 0, heartbeats: 1 });
    return true;
  });
});
