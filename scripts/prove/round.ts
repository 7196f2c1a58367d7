/**
 * Runs one round: sets up all parts, lets callers post during the steps, ends all faults, waits for the deliveries, and
 * collects the history for the rules.
 *
 * @module
 */

import { Callers } from "./callers.ts";
import { Client } from "./client.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { limitsOf } from "./delivery_limits.ts";
import { perform } from "./faults.ts";
import { type History, membersOf } from "./history.ts";
import { OperatorRun } from "./operators/operator_run.ts";
import { post, work } from "./operators/operators.ts";
import { prepare } from "./operators/preparation.ts";
import type { Plan } from "./plan.ts";
import { heartbeatsToRecover } from "./rules/rule.ts";
import { awaitReport, daysOf, readCounts, readTables } from "./tables.ts";
import { attemptsMax, TestEnv, type TestEnvOptions } from "./test_env.ts";

const lastPosts = 6;
// Longer than the breaker's longest pause and the time until rows below the claim floor are claimed, on a busy machine.
const drainMs = 90_000;
// A process updates its health figures twice per second, or less often on a busy machine.
const healthFiguresMs = 15_000;
// The pause between two replays of dead events.
const replayMs = 2_000;

// The pause between two health checks of a process, and between two small commits.
const healthCheckMs = 250;

export async function runRound(plan: Plan, options: TestEnvOptions): Promise<History> {
  const testEnv = await TestEnv.open(plan, options);
  const callers = new Callers(testEnv);
  const { notes } = testEnv;
  const operators = plan.hasOperators ? new OperatorRun(testEnv, callers) : null;
  try {
    const stopWatching = watch(testEnv);
    const startedAtMs = nowMs();
    callers.start();
    await performSteps(testEnv, callers, startedAtMs);
    await pause(startedAtMs + plan.runMs - nowMs());
    const repairedAtMs = await repairAll(testEnv);
    // Callers continue until the rules no longer accept a 503.
    await waitUntilRecovered(testEnv);
    options.report?.("recovered");
    await callers.stop();
    if (operators !== null) await post(operators);
    await killDuringDelivery(testEnv, callers);
    if (operators !== null) await prepare(operators);
    const drained = await drain(testEnv);
    options.report?.("drained");
    await waitForHealthFigures(testEnv);
    await stopWatching();
    // A roll-up may change the report while it is read.
    const differences = await awaitReport(testEnv, daysOf(testEnv), { deadlineMs: drainMs });
    const tables = await readTables(testEnv.sql, differences);
    const deliveries = [...testEnv.sink.deliveries];
    if (operators !== null) await work(operators);
    for (const { process } of testEnv.nodes) await process.stop("SIGTERM");
    return {
      ...notes,
      ...drained,
      nodes: plan.nodes,
      hasActions: plan.hasActions,
      attemptsMax,
      limits: limitsOf(plan),
      exchanges: callers.exchanges,
      deliveries,
      repairedAtMs,
      logs: testEnv.logs(),
      tables,
      counted: await readCounts(testEnv.sql),
      operations: { ...callers.operations, ...operators?.operations },
      modelDifferences: operators && operators.differences,
    };
  } finally {
    operators?.ctl.close();
    callers.close();
    await testEnv.close();
  }
}

/**
 * Checks each process's health and makes small commits directly on the server, until the returned function is called.
 * The rules count these commits, instead of measuring time, to decide when a service must have recovered.
 */
function watch(testEnv: TestEnv): () => Promise<void> {
  const { nodes, notes, sql, authority } = testEnv;
  let isOver = false;
  const client = new Client({ address: "127.0.1.2", ca: authority.pem, isHttp2: false });
  const checkHealth = async (node: number, port: number) => {
    const sentAtMs = nowMs();
    const response = await client.send({ port, method: "GET", path: "/healthz", headers: {}, body: "" })
      .catch(() => null);
    const health = response === null
      ? null
      : membersOf(response) as unknown as History["healthChecks"][number]["health"];
    notes.healthChecks.push({ node, sentAtMs, doneAtMs: nowMs(), status: response?.status ?? null, health });
  };
  const commitSmall = async () => {
    if (testEnv.isQuiet) return;
    await sql`select pg_logical_emit_message(true, '', '')`.then(
      () => notes.heartbeats.push(nowMs()),
      () => {},
    );
  };
  const repeat = async (act: () => Promise<void>) => {
    while (!isOver) {
      await act();
      await pause(healthCheckMs);
    }
  };
  const loops = Promise.all([
    ...nodes.map(({ index, intakePort }) => repeat(() => checkHealth(index, intakePort))),
    repeat(commitSmall),
  ]);
  return async () => {
    isOver = true;
    await loops;
    client.close();
  };
}

/** Waits for as many small commits as the service needs to recover from all steps. */
async function waitUntilRecovered({ notes }: TestEnv): Promise<void> {
  const before = notes.heartbeats.length;
  await waitFor(() => notes.heartbeats.length > before + heartbeatsToRecover + 1, { deadlineMs: 60_000 });
}

/** Performs each lane's steps one after the other; a late step delays the next one. */
async function performSteps(testEnv: TestEnv, callers: Callers, startedAtMs: number): Promise<void> {
  const lanes = Map.groupBy(testEnv.plan.steps, ({ lane, node }) => `${lane} ${lane === "node" ? node : 0}`);
  await Promise.all([...lanes.values()].map(async (steps) => {
    for (const step of steps) {
      await pause(startedAtMs + step.atMs - nowMs());
      await perform(step, testEnv, callers).catch((error) => {
        // Usually the proof's own connection has failed, which breaks no promise.
        testEnv.recordStep(`${step.kind} (failed: ${String(error?.code ?? error)})`, null)();
      });
    }
  }));
}

/** Ends all faults and returns the time when all parts worked again. */
async function repairAll(testEnv: TestEnv): Promise<number> {
  await testEnv.sink.setBehavior("normal");
  testEnv.disk?.empty();
  for (const { proxy, process } of testEnv.nodes) {
    proxy.cancelFault();
    proxy.isAccepting = true;
    process.signal("SIGCONT");
  }
  testEnv.actions?.signal("SIGCONT");
  await waitFor(async () => {
    await testEnv.sql.unsafe("alter system reset all");
    await testEnv.sql`select pg_reload_conf()`;
    return true;
  }, { deadlineMs: 30_000 });
  for (const { index, process } of testEnv.nodes) {
    if (!await process.start()) testEnv.notes.failedStarts.push(`service ${index}, after all faults`);
  }
  if (testEnv.actions !== null && !await testEnv.actions.start()) {
    testEnv.notes.failedStarts.push("actions, after all faults");
  }
  return nowMs();
}

/**
 * Kills a process while it delivers the last leads. Without later posts, the other process must find them by polling.
 */
async function killDuringDelivery(testEnv: TestEnv, callers: Callers): Promise<void> {
  const [node] = testEnv.nodes;
  if (node === undefined) return;
  const before = testEnv.sink.deliveries.length;
  await testEnv.sink.setBehavior("hang");
  await callers.postLast(lastPosts);
  await waitFor(() => testEnv.sink.deliveries.length > before, { deadlineMs: 3_000 });
  const end = testEnv.recordStep("kill", node.index);
  if (!await node.process.end("SIGKILL")) testEnv.notes.failedStarts.push("service 0, after the last kill");
  end();
  await testEnv.sink.setBehavior("normal");
}

/** Replays dead events until no event is pending or dead. */
async function drain(testEnv: TestEnv): Promise<Pick<History, "undelivered" | "replayed">> {
  const replayed: { eventId: string; spent: number; reason: string | null }[] = [];
  let replayedAtMs = Number.NEGATIVE_INFINITY;
  const isEmpty = await waitFor(async () => {
    const dead = await testEnv.sql<typeof replayed>`
      select d.event_id as "eventId", d.reason,
        (select count(*)::int from attempt as a where a.event_id = d.event_id and a.spent) as spent
      from dead_letter as d`;
    if (dead.length > 0 && nowMs() - replayedAtMs > replayMs) {
      replayedAtMs = nowMs();
      replayed.push(...dead);
      await testEnv.sql`select replay_dead(${dead.map(({ eventId }) => eventId)})`;
    }
    const [row] = await testEnv.sql<{ count: number }[]>`
      select ((select count(*) from outbox) + (select count(*) from search_todo))::int as count`;
    return row?.count === 0 && dead.length === 0;
  }, { deadlineMs: drainMs, everyMs: 200 });
  if (isEmpty !== null) return { undelivered: null, replayed };
  const rows = await testEnv.sql<{ text: string }[]>`
    select event_id || ' made ' || made || ' spent ' || spent || coalesce(' lease ' || lease, '') ||
      coalesce(' reason ' || reason, '') || ' due in ' || round(extract(epoch from coalesce(lease_until, due_at) - service_clock())) || ' s' as text
    from outbox order by event_id limit 5`;
  return {
    undelivered: rows.map(({ text }) => text).join("; ") || "replayed events are dead again",
    replayed,
  };
}

/** Waits until each process's health matches the tables; the rules check its last report. */
async function waitForHealthFigures(testEnv: TestEnv): Promise<void> {
  await waitFor(async () => {
    const [stored] = await testEnv.sql<{ pending: number; dead: number }[]>`
      select (select count(*)::int from outbox) as pending, (select count(*)::int from dead_letter) as dead`;
    return testEnv.nodes.every(({ index }) => {
      const health = testEnv.notes.healthChecks.findLast(({ node }) => node === index)?.health;
      return health?.ok && health.pending === stored?.pending && health.dead === stored?.dead;
    });
  }, { deadlineMs: healthFiguresMs, everyMs: 200 });
}
