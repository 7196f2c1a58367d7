/**
 * Runs the service and its actions process for ten minutes under hostile content at a moderate rate, and afterward checks
 * what only time shows. `SOAK_SECONDS` sets the duration, `FAULT_SEED` the content.
 *
 * No bound is a time of this machine. The delays of the event loops, and the processor time, are compared with those of a
 * control process (control.ts) on the same machine at the same time.
 */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { openapi } from "../../src/documents/openapi.ts";
import { jobNames } from "../../src/service/jobs.ts";
import { atEnd } from "../support/at_end.ts";
import { type Answer, send } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { every } from "../support/every.ts";
import { randomOf } from "../support/faults/random.ts";
import {
  formsAtLimits,
  hostileForm,
  hostileLead,
  type HostilePost,
  hostileText,
  leadsAtLimits,
} from "../support/hostile.ts";
import { listCommands, openHostileStage, type Target, visitConsole } from "../support/hostile_stage.ts";
import { makeFolder } from "../support/http/static_folder.ts";
import { checkout, checkoutSettings } from "../support/plans/buyer.ts";
import { StripeServer } from "../support/plans/stripe_server.ts";
import { runCtl } from "../support/server.ts";
import { checked } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const seconds = Number(process.env.SOAK_SECONDS ?? 600);
/** Five requests a second, so that the other tests keep most of two cores. */
const stepMs = 200;
/** The steps between two visits to the whole console, which cost as much as hundreds of posts, and between two runs of `ctl`. */
const [consoleSteps, ctlSteps] = [500, 150];

/** How much the middle of the samples in the last third may exceed that in the middle third, in bytes. */
const [residentGrowthMax, heapGrowthMax] = [48 * 2 ** 20, 16 * 2 ** 20];
/**
 * The maximum WAL of an idle minute, in bytes. Measured: 68,000 for two heartbeats a second, each on a new page, and 8,000 for
 * the samples and counts of the last posts.
 */
const idleWalMax = 120_000;
/** The connections to PostgreSQL that may open in the last third for the first time. */
const connectionsMax = 4;
/** What the control process measured (control.ts). */
interface Control {
  readonly delayMs: number;
  readonly workMs: number;
  readonly cpuSeconds: number;
}

/**
 * Returns how long the delays may be that 0.1 % exceed: twice the control's, and fifty of its pieces of work, because a page of
 * the console costs as much as some.
 */
const delayMsMax = ({ delayMs, workMs }: Control) => 2 * delayMs + 50 * workMs;

/** How many times the control's processor time a process may use. Chosen: more than twice what was measured. */
const cpuFactorMax = 6;

// A server of its own, because the WAL is counted for the whole server. Nothing but the service writes to it.
const postgres = await ownPostgres({ autovacuum: "off", checkpoint_timeout: "1h", max_wal_size: "4GB" });
const stripe = await StripeServer.open();
const { stage, fixture, targets, on } = await openHostileStage({
  ...checkoutSettings(stripe.url, stripe.secretKey),
  SITE_DIR: makeFolder({ "index.html": "<!doctype html><title>Home</title>" }),
}, { databaseUrl: postgres.url, actionsEnv: { ACTIONS_OPS_LISTEN: "127.0.0.1:0" } });
const { testEnv, server } = stage;
const actionsOps = String(fixture.actions.logs.find(({ surface }) => surface === "ops")?.url);
const processes = [{ name: "service", pid: server.pid, ops: stage.url }, {
  name: "actions",
  pid: fixture.actions.pid,
  ops: actionsOps,
}];

const control = fork(new URL("control.ts", import.meta.url), { stdio: "ignore" });
atEnd(() => control.disconnect());

const metricsOf = async (ops: string) => (await send(`${ops}/metrics`, { localAddress: "127.0.0.1" })).text;
const metric = (text: string, name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const residentBytes = (pid: number) =>
  1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** Every published path that can be read without parameters, by surface. */
const reads = Object.entries(
  openapi({ intake: "intake", forms: "forms", subscription: "subscription" }).paths,
)
  .flatMap(([path, item]) => {
    const { servers = [{ url: "intake" }], get } = item as { servers?: { url: string }[]; get?: object };
    return get === undefined
      ? []
      : servers.map(({ url }) => ({ surface: url as "intake" | "forms" | "subscription", path }));
  });

interface Sample {
  readonly resident: number;
  readonly heap: number;
  readonly descriptors: number;
}

const accepted: { readonly id: string; readonly slug: string }[] = [];
const statuses = new Map<string, number>();
const samples = new Map<string, Sample[]>(processes.map(({ name }) => [name, []]));

function count(what: string, { status }: Answer): void {
  const name = `${what} ${status}`;
  statuses.set(name, (statuses.get(name) ?? 0) + 1);
}

async function post(
  kind: "lead" | "form",
  target: Target,
  { body, headers = {} }: HostilePost,
): Promise<void> {
  const answer = kind === "lead"
    ? await testEnv.intake({ key: target.leads.text, body, headers, keepAlive: false })
    : await testEnv.submit(target.form, { key: target.forms.text, body, headers, keepAlive: false });
  count(kind, answer);
  if (answer.status !== 202) return;
  accepted.push({ id: answer.json.event_id ?? answer.json.submission_id, slug: target.form.tenant.slug });
}

async function sample(): Promise<void> {
  for (const { name, pid, ops } of processes) {
    const heap = metric(await metricsOf(ops), "process_heap_bytes");
    samples.get(name)?.push({ resident: residentBytes(pid), heap, descriptors: descriptors(pid) });
  }
}

/** Returns a process's samples in the middle and in the last third of the load. */
function thirds(name: string): { readonly before: readonly Sample[]; readonly after: readonly Sample[] } {
  const all = samples.get(name) ?? [];
  const third = Math.floor(all.length / 3);
  return { before: all.slice(third, 2 * third), after: all.slice(-third) };
}

const drained = () =>
  until(async () => {
    const [row] = await testEnv.sql`select count(*)::int as count from outbox`;
    return row?.count === 0;
  }, { what: "the outbox is empty", deadlineMs: 600_000, intervalMs: 500 });

test("hostile content on every surface answers nothing undocumented", async (t) => {
  const random = randomOf(t);
  const plan = {
    slug: "basic",
    name: "Basic",
    customer: "acme",
    amount_cents: 2900,
    interval: "month",
    items: [],
  };
  await testEnv.sql`
    insert into plan (slug, name, customer, amount_cents, billing_interval, body)
    values ('basic', 'Basic', 'acme', 2900, 'month', ${JSON.stringify(plan)}::text::json)`;
  const lists = await listCommands(on);
  const atLimits = [
    ...leadsAtLimits("limit").map((one) => () => post("lead", random.pick(targets), one)),
    ...formsAtLimits("limit").map((one) => () => post("form", random.pick(targets), one)),
  ];
  let steps = 0;
  const step = async () => {
    const id = `s${steps}`;
    const target = random.pick(targets);
    const headers = { "Idempotency-Key": random.oneIn(4) ? `key-${random.below(50)}` : id };
    switch (steps % 10) {
      case 0: {
        const { surface, path } = reads[Math.floor(steps / 10) % reads.length] as typeof reads[number];
        const answer = await send(`${server.urls[surface]}${path}`, { keepAlive: false });
        return count(surface, checked(answer, surface));
      }
      case 1:
        return count(
          "site",
          await send(`${server.urls.site}/?q=${encodeURIComponent("\ufdfa")}`, { keepAlive: false }),
        );
      case 2: {
        const email = random.oneIn(2) ? `${hostileText(random)}@example.com` : `${id}@example.com`;
        const body = random.oneIn(3) ? hostileForm(random, id) : { plan: "basic", email };
        return count("checkout", await checkout(server, { body, keepAlive: false }));
      }
      case 3:
        return await post("lead", target, { body: `${hostileLead(random, id)}${random.pick(["]", "\0"])}` });
      case 4:
      case 5:
        return await post("form", target, { body: hostileForm(random, id), headers });
      case 6:
        return await (atLimits[Math.floor(steps / 10) % atLimits.length] as () => Promise<void>)();
      default:
        return await post("lead", target, { body: hostileLead(random, id), headers });
    }
  };
  const ctlStep = async () => {
    const words = random.pick(lists);
    const { code, stderr } = await runCtl(words, on);
    assert.equal(code, 0, `ctl ${words.join(" ")}: ${stderr}`);
  };
  const faults: unknown[] = [];
  const startMs = performance.now();
  const elapsed = () => (performance.now() - startMs) / 1_000;
  let inFlight = 0;
  const run = (work: () => Promise<unknown>) => {
    inFlight += 1;
    work().catch((error) => faults.push(error)).finally(() => inFlight -= 1);
  };
  // One at a time, so that a slow machine gets fewer requests, not more at once.
  const stop = every(t, stepMs, () => {
    if (inFlight > 0) return;
    steps += 1;
    run(
      steps % consoleSteps === 0
        ? () => visitConsole(stage, { perPage: 5 })
        : steps % ctlSteps === 0
        ? ctlStep
        : step,
    );
  });
  const stopSampling = every(t, Math.max(1_000, seconds * 10), () => {
    sample().catch((error) => faults.push(error));
    // The runner ends a silent file.
    console.log(`${Math.round(elapsed())} s: ${steps} steps, ${accepted.length} accepted`);
  });
  await until(() => elapsed() > seconds || faults.length > 0, {
    deadlineMs: 2_000 * seconds,
    intervalMs: 200,
  });
  stop();
  stopSampling();
  await until(() => inFlight === 0);
  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].sort())));
  assert.deepEqual(faults, []);
  assert.deepEqual([...statuses.keys()].filter((name) => / 5(?!03)/.test(name)), []);
  for (
    const surface of ["lead 202", "lead 422", "form 202", "site 200", "checkout 201", "subscription 200"]
  ) {
    assert.ok(statuses.has(surface), surface);
  }
});

test("every acknowledged post was delivered exactly once, or is held", async () => {
  await drained();
  const rows = await testEnv.sql<{ id: string; state: string }[]>`
    select e.event_id as id, case
      when d.event_id is not null then 'dead'
      when a.event_id is not null then 'delivered'
      when s.verdict <> 'clean' then 'held'
    end as state
    from event as e
    left join dead_letter as d on d.event_id = e.event_id
    left join attempt as a on a.event_id = e.event_id and a.outcome = 'delivered'
    left join submission as s on s.event_id = e.event_id`;
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const calls = new Map<string, number>();
  const add = (path: string, id: string | undefined) =>
    calls.set(`${path} ${id}`, (calls.get(`${path} ${id}`) ?? 0) + 1);
  for (const { url, body, headers } of fixture.crm.calls) {
    const slackId = /Event: (\w+)/.exec(body)?.[1];
    add(url, url === "/slack" ? slackId : String(headers["webhook-id"] ?? JSON.parse(body).id));
  }
  for (const { raw } of fixture.smtp.messages) add("mail", /^Message-ID:\s*<?(\w+)/im.exec(raw)?.[1]);
  const wrong = accepted.flatMap(({ id, slug }) => {
    const state = states.get(id);
    const paths = slug === targets[0]?.form.tenant.slug ? ["/webhook", "/slack", "mail"] : ["/recipe"];
    const expected = state === "delivered" ? 1 : 0;
    const got = paths.map((path) => calls.get(`${path} ${id}`) ?? 0);
    return (state === "delivered" || state === "held") && got.every((one) => one === expected)
      ? []
      : [{ id, state, got }];
  });
  assert.deepEqual(wrong, []);
});

test("the event loop was delayed, and the processor used, little more than by a control process", async (t) => {
  control.send("report");
  const [measured] = await once(control, "message") as [Control];
  for (const { name, ops } of processes) {
    const text = await metricsOf(ops);
    const buckets = [...text.matchAll(/^process_event_loop_lag_seconds_bucket\{le="(.*)"\} (\d+)$/gm)];
    const total = Number(buckets.at(-1)?.[2]);
    // More than 0.1 % of the delays are longer than this; the buckets do not tell how much longer.
    const longMs = 1_000 * Number(buckets.findLast(([, , below]) => Number(below) < 0.999 * total)?.[1] ?? 0);
    t.diagnostic(`${name}: over ${longMs} ms; the control: ${JSON.stringify(measured)}`);
    assert.ok(longMs <= delayMsMax(measured), name);
    const cpuSeconds = metric(text, "process_cpu_seconds_total");
    t.diagnostic(`${name}: ${cpuSeconds} s of processor time`);
    assert.ok(cpuSeconds <= cpuFactorMax * measured.cpuSeconds, name);
  }
});

test("memory stayed level from the middle third to the last", (t) => {
  const middle = (all: readonly Sample[]) =>
    all.map(({ resident }) => resident).toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number;
  // The smallest, which is nearest to what a garbage collection leaves.
  const least = (all: readonly Sample[]) => Math.min(...all.map(({ heap }) => heap));
  for (const { name } of processes) {
    const { before, after } = thirds(name);
    const [resident, heap] = [middle(after) - middle(before), least(after) - least(before)];
    t.diagnostic(
      `${name}: resident ${resident}, heap ${heap} bytes more than ${middle(before)}, ${least(before)}`,
    );
    assert.ok(resident <= residentGrowthMax && heap <= heapGrowthMax, name);
  }
});

test("no more descriptors are open than under load", async (t) => {
  for (const { name, pid } of processes) {
    const before = Math.max(...thirds(name).before.map((one) => one.descriptors));
    await until(() => descriptors(pid) <= before + connectionsMax, {
      what: `${name} closes its descriptors`,
    });
    t.diagnostic(`${name}: ${before} under load, ${descriptors(pid)} after`);
  }
});

test("an idle minute writes little WAL, and every job has run", async (t) => {
  const position = async () =>
    (await testEnv.sql`select pg_current_wal_lsn()::text as lsn`)[0]?.lsn as string;
  const [startMs, start] = [performance.now(), await position()];
  await until(() => performance.now() - startMs >= 60_000, { deadlineMs: 120_000, intervalMs: 500 });
  const end = await position();
  await testEnv.sql`create extension pg_walinspect`;
  const writers = await testEnv.sql<{ writer: string; bytes: number }[]>`
    select coalesce(c.relname, r.resource_manager) as writer, sum(r.record_length)::int as bytes
    from pg_get_wal_records_info(${start}::pg_lsn, ${end}::pg_lsn) as r
    left join pg_class as c on c.relfilenode = substring(r.block_ref from 'rel [0-9]+/[0-9]+/([0-9]+)')::oid
    group by 1 order by 2 desc`;
  const written = writers.map(({ writer, bytes }) => `${writer}: ${bytes}`).join(", ");
  t.diagnostic(written);
  assert.ok(writers.reduce((sum, { bytes }) => sum + bytes, 0) <= idleWalMax, written);
  const text = await metricsOf(stage.url);
  const ran = [...text.matchAll(/^lead_job_last_success_timestamp_seconds\{task="(\w+)"\} (.*)$/gm)]
    .filter(([, , at]) => Number(at) * 1_000 > performance.timeOrigin + startMs - 60_000);
  assert.deepEqual(ran.map(([, job]) => job).sort(), jobNames.toSorted());
});
