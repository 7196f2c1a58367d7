/**
 * One round: all parts are set up, callers post while steps are done to the parts, then everything is whole again, what
 * waits is delivered, and what was seen and what is stored are put together for the rules.
 *
 * @module
 */

import { Callers } from "./callers.ts";
import { Client } from "./client.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { perform } from "./faults.ts";
import { type History, membersOf } from "./history.ts";
import { Operators } from "./operator.ts";
import type { Plan } from "./plan.ts";
import { beatsToRecover } from "./rules/rule.ts";
import { askReport, readTables } from "./tables.ts";
import { attemptsMax, sendTimeoutMs, World, type WorldOptions } from "./world.ts";

const orphans = 6;
// For the last delivery, on a busy machine: longer than the breaker's longest pause and a look below a floor.
const drainMs = 90_000;
// The figures of health are those of the last beat, twice a second; on a machine with no time for it, later.
const figuresMs = 15_000;
// Between two looks of the operator at what is dead.
const replayMs = 2_000;

// Between two looks at the health of a process, and between two beats of the pulse.
const lookMs = 250;

/** Runs one and returns all that was seen. */
export async function runRound(plan: Plan, options: WorldOptions): Promise<History> {
  const world = await World.open(plan, options);
  const callers = new Callers(world);
  const { notes } = world;
  const operators = plan.hasOperators ? new Operators(world, callers) : null;
  try {
    const stopWatching = watch(world);
    const startedAtMs = nowMs();
    callers.start();
    await doSteps(world, callers, startedAtMs);
    await pause(startedAtMs + plan.runMs - nowMs());
    const calmAtMs = await becomeWhole(world);
    // Callers go on until nothing that was done excuses anything any more.
    await recovered(world);
    await callers.stop();
    await operators?.post();
    await leaveOrphans(world, callers);
    await operators?.prepare();
    const drained = await drain(world);
    await figuresFollow(world);
    await stopWatching();
    const report = await askReport(world.nodes[0]?.opsPort ?? 0, daysOf(world));
    const tables = await readTables(world.sql, report);
    const arrived = [...world.sink.arrived];
    await operators?.work();
    for (const { process } of world.nodes) await process.stop("SIGTERM");
    const [sum] = await world.sql<
      { count: number }[]
    >`select coalesce(sum(count), 0)::int as count from duplicate_total`;
    return {
      ...{ ...notes, ...drained, nodes: plan.nodes, hasActions: plan.hasActions, attemptsMax, sendTimeoutMs },
      ...{ asked: callers.asked, arrived, calmAtMs, logs: world.logs(), tables },
      ...{ duplicates: sum?.count ?? 0, verbs: { ...callers.verbs, ...operators?.verbs } },
      operated: operators && operators.found,
    };
  } finally {
    operators?.close();
    callers.close();
    await world.close();
  }
}

/**
 * Looks at each process's health until the returned function is called, and makes small commits of its own, straight to the
 * server: by those, and not by a clock, the rules tell when a service must have recovered.
 */
function watch(world: World): () => Promise<void> {
  const { nodes, notes, sql, authority } = world;
  let isOver = false;
  const client = new Client({ address: "127.0.1.2", ca: authority.pem, isHttp2: false });
  const look = async (node: number, port: number) => {
    const sentAtMs = nowMs();
    const answer = await client.send({ port, method: "GET", path: "/healthz", headers: {}, body: "" })
      .catch(() => null);
    const health = answer === null
      ? null
      : membersOf(answer) as unknown as History["looks"][number]["health"];
    notes.looks.push({ node, sentAtMs, doneAtMs: nowMs(), status: answer?.status ?? null, health });
  };
  const beat = async () => {
    if (world.isQuiet) return;
    await sql`select pg_logical_emit_message(true, 'proof', '')`.then(
      () => notes.beats.push(nowMs()),
      () => {},
    );
  };
  const everyTime = async (act: () => Promise<void>) => {
    while (!isOver) {
      await act();
      await pause(lookMs);
    }
  };
  const all = Promise.all([
    ...nodes.map(({ index, intakePort }) => everyTime(() => look(index, intakePort))),
    everyTime(beat),
  ]);
  return async () => {
    isOver = true;
    await all;
    client.close();
  };
}

/** Waits for so many small commits that the service must have recovered from all that was done. */
async function recovered({ notes }: World): Promise<void> {
  const before = notes.beats.length;
  await waitFor(() => notes.beats.length > before + beatsToRecover + 1, { deadlineMs: 60_000 });
}

/** Each lane's steps one after the other; a step that is late pushes those behind it. */
async function doSteps(world: World, callers: Callers, startedAtMs: number): Promise<void> {
  const lanes = Map.groupBy(world.plan.steps, ({ lane, node }) => `${lane} ${lane === "node" ? node : 0}`);
  await Promise.all([...lanes.values()].map(async (steps) => {
    for (const step of steps) {
      await pause(startedAtMs + step.atMs - nowMs());
      await perform(step, world, callers).catch((error) => {
        // The proof's own connection, most often: what it was at is not what is proved.
        world.note(`${step.kind} (not done: ${String(error?.code ?? error)})`, null)();
      });
    }
  }));
}

/** Whatever a step may have left behind is mended; returns when that was. */
async function becomeWhole(world: World): Promise<number> {
  await world.sink.behave("well");
  world.disk?.empty();
  for (const { proxy, process } of world.nodes) {
    proxy.faultNever();
    proxy.acceptsNew = true;
    process.signal("SIGCONT");
  }
  world.actions?.signal("SIGCONT");
  await waitFor(async () => {
    await world.sql.unsafe("alter system reset all");
    await world.sql`select pg_reload_conf()`;
    return true;
  }, { deadlineMs: 30_000 });
  for (const { index, process } of world.nodes) {
    if (!await process.start()) world.notes.unstarted.push(`service ${index}, in the end`);
  }
  if (world.actions !== null && !await world.actions.start()) {
    world.notes.unstarted.push("actions, in the end");
  }
  return nowMs();
}

/**
 * The last leads are on their way when a process dies, and nobody posts after them: who finds them has to look for them by
 * himself.
 */
async function leaveOrphans(world: World, callers: Callers): Promise<void> {
  const [node] = world.nodes;
  if (node === undefined) return;
  const before = world.sink.arrived.length;
  await world.sink.behave("hang");
  await callers.postLast(orphans);
  await waitFor(() => world.sink.arrived.length > before, { deadlineMs: 3_000 });
  const end = world.note("kill", node.index);
  if (!await node.process.end("SIGKILL")) world.notes.unstarted.push("service 0, after the last kill");
  end();
  await world.sink.behave("well");
}

/** Waits until nothing is due any more; what has died is put back as an operator does it. */
async function drain(world: World): Promise<Pick<History, "undrained" | "replayed">> {
  const replayed: { eventId: string; spent: number; reason: string | null }[] = [];
  let replayedAtMs = Number.NEGATIVE_INFINITY;
  const isEmpty = await waitFor(async () => {
    const dead = await world.sql<typeof replayed>`
      select d.event_id as "eventId", d.reason,
        (select count(*)::int from attempt as a where a.event_id = d.event_id and a.spent) as spent
      from dead_letter as d`;
    if (dead.length > 0 && nowMs() - replayedAtMs > replayMs) {
      replayedAtMs = nowMs();
      replayed.push(...dead);
      await world.sql`select replay_dead(${dead.map(({ eventId }) => eventId)})`;
    }
    const [row] = await world.sql<{ count: number }[]>`
      select ((select count(*) from outbox) + (select count(*) from lead_contact_todo))::int as count`;
    return row?.count === 0 && dead.length === 0;
  }, { deadlineMs: drainMs, everyMs: 200 });
  if (isEmpty !== null) return { undrained: null, replayed };
  const rows = await world.sql<{ text: string }[]>`
    select event_id || ' made ' || made || ' spent ' || spent || coalesce(' lease ' || lease, '') ||
      coalesce(' reason ' || reason, '') || ' due in ' || round(extract(epoch from coalesce(lease_until, due_at) - service_clock())) || ' s' as text
    from outbox order by event_id limit 5`;
  return { undrained: rows.map(({ text }) => text).join("; ") || "what is dead dies again", replayed };
}

/** Waits until each process tells of what is stored; the rules look at what it has told last. */
async function figuresFollow(world: World): Promise<void> {
  await waitFor(async () => {
    const [stored] = await world.sql<{ pending: number; dead: number }[]>`
      select (select count(*)::int from outbox) as pending, (select count(*)::int from dead_letter) as dead`;
    return world.nodes.every(({ index }) => {
      const health = world.notes.looks.findLast(({ node }) => node === index)?.health;
      return health?.ok && health.pending === stored?.pending && health.dead === stored?.dead;
    });
  }, { deadlineMs: figuresMs, everyMs: 200 });
}

/** The days of UTC that the database's clock has been in. */
function daysOf(world: World): string[] {
  let offsetMs = 0;
  const times = [Date.now() - 3_600_000, Date.now()];
  for (const { stepMs } of world.notes.clockSteps) {
    offsetMs += stepMs;
    times.push(Date.now() - 3_600_000 + offsetMs, Date.now() + offsetMs);
  }
  return [...new Set(times.map((ms) => new Date(ms).toISOString().slice(0, 10)))];
}
