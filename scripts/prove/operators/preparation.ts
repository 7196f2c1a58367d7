/**
 * Operations before all events are delivered: deaths, lost attempts and records, kills right after responses, content windows,
 * and a first route.
 *
 * @module
 */

import { nowMs, waitFor } from "../clock.ts";
import { moveClock } from "../faults.ts";
import { type Delivery, type Key } from "../history.ts";
import { attemptsMax } from "../test_env.ts";
import { dayMs, minuteMs, type OperatorRun, runsMin, stepTimeoutMs } from "./operator_run.ts";

/** The time before the end of a window at which a repeated post is certainly within the window. */
const marginMs = 20_000;

/**
 * Makes leads dead, loses last attempts, posts leads that differ in one digit or sign, posts right before PostgreSQL is killed,
 * repeats posts before and after their content window ends, and gives `bare` its first route.
 */
export async function prepare(run: OperatorRun): Promise<void> {
  const differences = run.differences;
  const callers = run.callers;
  const testEnv = run.testEnv;
  await run.whileFailing(async () => {
    const { sink, sql, plan } = testEnv;
    // A 503 of the actions tier spends no attempt; the actions process would report a CRM's 503 as a refusal.
    if (!plan.hasActions) await sink.setBehavior("unavailable");
    await callers.postConcurrently("lead", runsMin, "north");
    const isUnavailable = async () =>
      (await sql`select from outbox as o join attempt as a using (event_id) where a.status = 503 limit 1`)
        .length > 0;
    if (!plan.hasActions) await waitFor(isUnavailable, { deadlineMs: stepTimeoutMs, everyMs: 20 });
    await sink.setBehavior("failing");
    return async () => Number((await sql`select count(*)::int as dead from dead_letter`)[0]?.dead) >= runsMin;
  });
  run.count("lead refused until dead", runsMin);
  await run.whileFailing(() => loseLastAttempts(run));
  run.count("last attempt lost", runsMin);
  await callers.postLongNumbers(runsMin);
  run.count("leads that differ in one digit or sign", runsMin);
  // Without the proof's own commits nothing else flushes the WAL, so a kill loses an event acknowledged too early.
  testEnv.isQuiet = true;
  for (const kind of ["trapped_form", "lead"] as const) {
    for (let round = 0; round < 3; round += 1) {
      const end = testEnv.recordStep("postgres_kill", null);
      await callers.postConcurrently(kind, runsMin / 2, "bare");
      testEnv.server.kill("SIGKILL");
      run.count(`${kind} acknowledged right before PostgreSQL is killed`, runsMin / 2);
      await testEnv.server.restart();
      const backAtMs = nowMs();
      await waitFor(() => testEnv.isHealthySince(backAtMs), { deadlineMs: stepTimeoutMs });
      end();
    }
  }
  testEnv.isQuiet = false;
  await setClockBack(run);
  await delayCounts(run);
  if (testEnv.plan.hasActions) await loseRecords(run);
  for (const [kind, windowMs] of [["form", 10 * minuteMs], ["lead", dayMs]] as const) {
    const posts = await callers.postConcurrently(kind, runsMin, "south");
    for (const stepMs of [windowMs - marginMs, marginMs + 5_000]) {
      // The clock step ends leases, so that sends in flight may be repeated.
      const end = testEnv.recordStep("day_passes", null);
      await moveClock(testEnv, stepMs);
      end();
      await callers.repeat(posts);
    }
    run.count(`${kind} repeated before and after its window ends`, runsMin);
  }
  // The newest content of the tenant with a retention period.
  await callers.postConcurrently("lead", runsMin, "north");
  const delivered = testEnv.sink.deliveries.filter(({ tenant }) => tenant === "bare");
  differences.push(
    ...delivered.map(({ eventId }) => `${eventId} was delivered, but its tenant has no route`),
  );
  const attempted = await testEnv.sql<{ id: string }[]>`
    select o.event_id as id from outbox as o join tenant as t on t.id = o.tenant_id
    where t.slug = 'bare' and (o.made > 0 or o.spent > 0)`;
  differences.push(...attempted.map(({ id }) => `${id} made an attempt, but its tenant has no route`));
  await addRoutes(run);
}

/** Sets the database's clock forward and, while events wait for their next attempts, back: they must not wait for it. */
async function setClockBack(run: OperatorRun): Promise<void> {
  const { callers, testEnv } = run;
  const { sink, sql } = testEnv;
  // Ends leases, so that sends in flight may be repeated.
  const step = async (stepMs: number) => {
    const end = testEnv.recordStep("day_passes", null);
    await moveClock(testEnv, stepMs);
    end();
  };
  await step(3 * dayMs);
  sink.isConsistent = true;
  await sink.setBehavior("failing");
  let waitingCount = 0;
  await sql.begin(async (sql) => {
    // An event is not claimed while its row is locked, so that it waits when the clock is set back. Some events die unseen.
    const areWaiting = await waitFor(async () => {
      await callers.postConcurrently("lead", runsMin, "south");
      const waiting = await sql`
        select from outbox as o join tenant as t on t.id = o.tenant_id
        where t.slug = 'south' and o.made > 0 and o.lease is null and o.due_at > clock_timestamp() + interval '2 days'
        for update of o`;
      waitingCount = waiting.length;
      return waitingCount >= runsMin;
    }, { deadlineMs: stepTimeoutMs, everyMs: 20 });
    if (areWaiting === null) run.differences.push("too few events waited for another attempt");
    await step(-3 * dayMs);
  });
  sink.isConsistent = false;
  await sink.setBehavior("normal");
  const isOver = await waitFor(async () => {
    const waiting =
      await sql`select from outbox where due_at > clock_timestamp() + interval '2 days' limit 1`;
    return waiting.length === 0;
  }, { deadlineMs: stepTimeoutMs, everyMs: 100 });
  if (isOver === null) run.differences.push("events wait for the time before the clock was set back");
  run.count("lead that waits when the clock is set back", waitingCount);
}

/** Repeats posts while no process may write their counts, which must be written later. */
async function delayCounts(run: OperatorRun): Promise<void> {
  const { callers, testEnv: { nodes, sql } } = run;
  const posts = await callers.postConcurrently("lead", runsMin, "south");
  const logged = nodes.map(({ process }) => process.log.length);
  await sql`revoke execute on function add_duplicates from lead_service`;
  const isDelayed = await waitFor(async () => {
    await callers.repeat(posts);
    return nodes.every(({ process }, index) => process.log.slice(logged[index]).includes("totals_kept"));
  }, { deadlineMs: stepTimeoutMs, everyMs: 500 });
  await sql`grant execute on function add_duplicates to lead_service`;
  run.count("repeat whose count is written late", isDelayed === null ? 0 : posts.length);
}

/** Gives `bare` a route for one source, which must deliver that source's waiting events, and then one for all. */
async function addRoutes(run: OperatorRun): Promise<void> {
  const { sql, sink, notes } = run.testEnv;
  const kept = notes.keys.find(({ tenant, label }) => tenant === "bare" && label === "kept") as Key;
  await run.callers.postWith(Array.from({ length: runsMin }, () => kept));
  const countWaiting = async () =>
    (await sql`
      select from outbox as o join event as e using (event_id) join api_key as k on k.id = e.key_id
      where k.label = 'kept' and k.tenant_id = (select id from tenant where slug = 'bare')`).length;
  run.count("event that waits for its source's route", await countWaiting());
  const scoped = ["--source", "kept", "--crm-url", `${sink.url}/hook/bare/kept`];
  sink.setSecret("bare", await run.changeRoute("bare", ...scoped), "first");
  const asleep = await sql`
    select from outbox as o join event as e using (event_id) join api_key as k on k.id = e.key_id
    where k.label = 'kept' and k.tenant_id = (select id from tenant where slug = 'bare') and o.lease is null
      and o.due_at > service_clock()`;
  if (asleep.length > 0) {
    run.differences.push(`${asleep.length} events are not due although their source got a route`);
  }
  const isDelivered = await waitFor(async () => (await countWaiting()) === 0, {
    deadlineMs: stepTimeoutMs,
    everyMs: 100,
  });
  if (isDelivered === null) run.differences.push("events still wait after their source got a route");
  await sql`
    insert into actions.route (tenant_id, kind, address, secret)
    select tenant_id, kind, ${`${sink.url}/hook/bare`}, secret from actions.route
    where tenant_id = (select id from tenant where slug = 'bare')`;
}

/**
 * Keeps the actions process from its database while CRMs respond, so that it can record effects only afterwards. Meanwhile, the
 * mail server defers the same events' mails, which must be sent later.
 */
async function loseRecords(run: OperatorRun): Promise<void> {
  const { sink, sql } = run.testEnv;
  const from = sink.deliveries.length;
  const isEach = (count: number, isSuitable: (one: Delivery) => boolean) => () => {
    const all = sink.deliveries.slice(from);
    return Promise.resolve(all.length >= count && all.every(isSuitable));
  };
  sink.isConsistent = true;
  sink.isMailDeferred = true;
  await sink.setBehavior("slow");
  for (const tenant of ["south", "north"]) await run.callers.postConcurrently("lead", runsMin, tenant);
  await waitFor(isEach(runsMin / 2, () => true), { deadlineMs: stepTimeoutMs, everyMs: 20 });
  await sql`alter role proof_actions nologin`;
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'proof_actions'`;
  await waitFor(isEach(0, ({ respondedAtMs }) => respondedAtMs !== null), { deadlineMs: 10_000 });
  await sql`alter role proof_actions login`;
  sink.isConsistent = false;
  sink.isMailDeferred = false;
  await sink.setBehavior("normal");
  // The next clock step would end the claims, which excuses a repeat.
  const isDelivered = await waitFor(
    async () =>
      (await sql`
        select from outbox as o join tenant as t on t.id = o.tenant_id where t.slug in ('south', 'north') limit 1`)
        .length === 0,
    { deadlineMs: stepTimeoutMs, everyMs: 100 },
  );
  if (isDelivered === null) run.differences.push("events whose effects could not be recorded still wait");
  run.count("lead delivered while effects cannot be recorded", runsMin);
}

/**
 * Claims events for their last attempts, like a process that is then killed, and ends all of these leases at once. Returns a
 * condition: all of them are dead.
 */
async function loseLastAttempts(run: OperatorRun): Promise<() => Promise<boolean>> {
  const { sql } = run.testEnv;
  await run.callers.postConcurrently("lead", 2 * runsMin, "south");
  const claimed: string[] = [];
  return async () => {
    if (claimed.length < runsMin) {
      const rows = await sql<{ id: string }[]>`
        update outbox
        set lease = gen_random_uuid(), lease_until = service_clock() + interval '1 minute', made = made + 1, spent = spent + 1
        where spent = ${attemptsMax - 1} and lease is null
        returning event_id as id`;
      claimed.push(...rows.map(({ id }) => id));
      if (claimed.length >= runsMin) {
        await sql`update outbox set lease_until = service_clock() where event_id = any(${claimed})`;
      }
    }
    const [dead] = await sql<{ count: number }[]>`
      select count(*)::int as count from dead_letter where reason = 'lost' and event_id = any(${claimed})`;
    return dead?.count === claimed.length && claimed.length >= runsMin;
  };
}
