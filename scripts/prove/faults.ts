/**
 * How each kind of step is done, and undone.
 *
 * @module
 */

import postgres from "postgres";
import { childrenOf, signalProcess } from "../processes.ts";
import type { Callers } from "./callers.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { openSql } from "./database.ts";
import type { Happened } from "./history.ts";
import type { Kind, Step } from "./plan.ts";
import type { Place } from "./postgres_proxy.ts";
import type { Manner } from "./sink.ts";
import type { ServiceNode, World } from "./world.ts";

type NoCommit = Happened["noCommit"];

// A statement of the service's comes by this often at least; a cut that has not happened by then never will.
const cutDeadlineMs = 1_500;
const dayMs = 25 * 3_600_000;
const databaseUpMs = 60_000;
const cancelsCount = 8;
const cancelEveryMs = 80;
// After the server has told one session of a new setting, the others have it too.
const reloadMs = 300;

/** Does one step, to its end. */
export async function perform(step: Step, world: World, callers: Callers): Promise<void> {
  const node = world.nodes[step.node] as ServiceNode;
  const isOfNode = step.lane === "node" || step.lane === "wire";
  const end = world.note(step.kind, isOfNode ? step.node : null);
  let noCommit: NoCommit = null;
  try {
    noCommit = await act(step, { world, node, callers }) ?? null;
  } finally {
    end(noCommit);
  }
}

type Parts = { readonly world: World; readonly node: ServiceNode; readonly callers: Callers };
type Fault = (parts: Parts, forMs: number) => Promise<NoCommit | void>;

async function act(step: Step, parts: Parts): Promise<NoCommit | void> {
  const { kind, forMs } = step;
  const { world, node } = parts;
  const [, how, place] = /^(cut|freeze)_(.+)$/.exec(kind) ?? [];
  if (place !== undefined && place !== "all") {
    return await onWire(node, place as Place, how === "cut" ? null : forMs);
  }
  if (kind.startsWith("downstream_")) {
    await world.sink.behave(kind.slice("downstream_".length) as Manner);
    await pause(forMs);
    return void await world.sink.behave("well");
  }
  return await simple[kind]?.(parts, forMs);
}

/** By kind; each returns the span in which no commit could be confirmed, where it is certain that there was one. */
const simple: Partial<Record<Kind, Fault>> = {
  async postgres_kill({ world }) {
    world.server.kill("SIGKILL");
    await startAgain(world);
  },
  async postgres_stop_now({ world }) {
    world.server.stopNow();
    await startAgain(world);
  },
  postgres_stop: ({ world }) => startAgain(world),
  async postgres_freeze({ world }, forMs) {
    const signalAll = (signal: NodeJS.Signals) => {
      const { pid } = world.server;
      signalProcess(pid, signal);
      for (const child of childrenOf(pid)) signalProcess(child.pid, signal);
    };
    signalAll("SIGSTOP");
    // One that was begun while the others were stopped.
    signalAll("SIGSTOP");
    const fromMs = nowMs();
    await pause(forMs);
    const toMs = nowMs();
    signalAll("SIGCONT");
    return { fromMs, toMs };
  },
  async backend_kill({ world }) {
    const [row] = await world.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where usename = 'proof_service' order by application_name like '%commit%' desc limit 1`;
    if (row !== undefined) signalProcess(row.pid, "SIGKILL");
    await isBack(world);
  },
  async backends_terminate({ world }) {
    await world.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'proof_service'`;
  },
  async read_only({ world }, forMs) {
    await alter(world, "default_transaction_read_only", "on");
    const fromMs = nowMs();
    await pause(forMs);
    const toMs = nowMs();
    await alter(world, "default_transaction_read_only", null);
    return { fromMs, toMs };
  },
  async standby_lost({ world }, forMs) {
    await alter(world, "synchronous_standby_names", "gone");
    const fromMs = nowMs();
    let waited = false;
    // Somebody loses patience with the commits that wait: they are there, and are no promise. Again and again, because
    // those that wait at first are of posts from before; and before a beat is missed, after which nobody is answered.
    for (let cancelled = 0; cancelled < cancelsCount; cancelled += 1) {
      await pause(cancelEveryMs);
      const rows = await world.sql`
        select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event = 'SyncRep' and application_name like '%commit%'`;
      waited ||= rows.length > 0;
    }
    const stirredAtMs = nowMs();
    await pause(forMs);
    const toMs = nowMs();
    await alter(world, "synchronous_standby_names", null);
    return waited ? { fromMs, toMs, stirredAtMs } : null;
  },
  async disk_full({ world }, forMs) {
    if (world.disk === null) throw Object.assign(new Error("No small disk"), { code: "needs root" });
    world.disk.fill();
    await pause(forMs);
    world.disk.empty();
    // Out of room for its log it panics, and its recovery may have found none either.
    if (await waitFor(() => answers(world), { deadlineMs: 3_000 }) === null) await startAgain(world);
  },
  async slots_exhausted({ world }, forMs) {
    const url = new URL(world.databaseUrl);
    url.username = url.password = "proof_service";
    const held: postgres.Sql[] = [];
    for (let isFull = false; !isFull && held.length < 200;) {
      const one = postgres(url.href, { max: 1, connect_timeout: 2, onnotice: () => {}, idle_timeout: 0 });
      held.push(one);
      isFull = await one`select 1`.then(() => false, () => true);
    }
    // Whoever needs a new one now finds none.
    await world.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'proof_service' and application_name like 'lead-intake %'`.catch(() => {});
    await pause(forMs);
    await Promise.all(held.map((one) => one.end({ timeout: 0 }).catch(() => {})));
  },

  kill: (parts) => endNode(parts, "SIGKILL"),
  terminate: (parts) => endNode(parts, "SIGTERM"),
  async kill_with_clock_off(parts) {
    parts.node.clockOffMs = parts.node.clockOffMs === 0 ? 3_600_000 : 0;
    await endNode(parts, "SIGKILL");
  },
  async stop({ node }, forMs) {
    node.process.signal("SIGSTOP");
    await pause(forMs);
    node.process.signal("SIGCONT");
  },
  async actions_kill({ world }) {
    if (await world.actions?.end("SIGKILL") === false) world.notes.unstarted.push("actions, after a kill");
  },
  async actions_stop({ world }, forMs) {
    world.actions?.signal("SIGSTOP");
    await pause(forMs);
    world.actions?.signal("SIGCONT");
  },

  async cut_all({ node }) {
    await node.proxy.cut();
  },
  async silence_all({ node }, forMs) {
    node.proxy.blackHole();
    await pause(forMs);
  },
  async refuse_new({ node }, forMs) {
    node.proxy.acceptsNew = false;
    await node.proxy.cut();
    await pause(forMs);
    node.proxy.acceptsNew = true;
  },

  async revoke({ world }) {
    const gone = new Set(world.notes.revoked.map(({ keyId }) => keyId));
    const key = world.notes.keys.find(({ id, label }) => label.startsWith("spare-") && !gone.has(id));
    if (key === undefined) return;
    await revoked(
      world,
      [key.id],
      () => world.sql`update api_key set revoked_at = service_clock() where id = ${key.id}`,
    ).catch(() => {});
  },
  async day_passes({ world }) {
    await moveClock(world, dayMs);
  },
  burst_of_key: ({ callers, node }) => callers.burst("burst_of_key", node.index),
  burst_of_address: ({ callers, node }) => callers.burst("burst_of_address", node.index),
  burst_of_forms: ({ callers, node }) => callers.burst("burst_of_forms", node.index),
};

/** Notes that keys were revoked, and until when if that is undone. */
export async function revoked(
  world: World,
  keyIds: readonly number[],
  act: () => Promise<unknown>,
  until?: { readonly meanwhile: () => Promise<unknown>; readonly undo: () => Promise<unknown> },
): Promise<void> {
  const fromMs = nowMs();
  await act();
  const returnedAtMs = nowMs();
  const databaseMs = await databaseNow(world);
  if (databaseMs === null) return;
  const notes = keyIds.map((keyId) => ({ keyId, fromMs, returnedAtMs, databaseMs }));
  world.notes.revoked.push(...notes);
  if (until === undefined) return;
  await until.meanwhile();
  const again = { fromMs: nowMs(), databaseMs: await databaseNow(world) ?? 0 };
  await until.undo();
  const ended = notes.map((one) => ({ ...one, until: { ...again, toMs: nowMs() } }));
  world.notes.revoked.splice(-notes.length, notes.length, ...ended);
}

/** Sets the database's clock on. */
export async function moveClock({ sql, notes: { clockSteps } }: World, stepMs: number): Promise<void> {
  const before = clockSteps.reduce((sum, step) => sum + step.stepMs, 0);
  const fromMs = nowMs();
  await sql.unsafe(
    `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
     as $$ select clock_timestamp() + interval '${(before + stepMs) / 1000} seconds' $$`,
  );
  clockSteps.push({ fromMs, toMs: nowMs(), stepMs });
}

async function endNode({ world, node }: Parts, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (!await node.process.end(signal)) world.notes.unstarted.push(`service ${node.index}, after ${signal}`);
}

async function onWire({ proxy }: ServiceNode, place: Place, haltMs: number | null): Promise<void> {
  const isEarly = place === "before_parse";
  const made = proxy.faultOnce({ place, how: haltMs !== null ? "halt" : isEarly ? "reset" : "close" });
  // Parse comes once a connection.
  if (isEarly) await proxy.cut();
  const halted = await Promise.race([made, pause(cutDeadlineMs).then(() => null)]);
  proxy.faultNever();
  if (halted === null || haltMs === null) return;
  await pause(haltMs);
  halted.release();
}

async function databaseNow(world: World): Promise<number | null> {
  return await waitFor(async () => {
    const [row] = await world.sql<{ ms: number }[]>`
      select (extract(epoch from service_clock()) * 1000)::float8 as ms`;
    return row?.ms ?? null;
  }, { deadlineMs: 10_000, everyMs: 100 });
}

/** Starts PostgreSQL again, after its end. */
async function startAgain(world: World): Promise<void> {
  await world.server.restart().catch((error) => world.notes.unstarted.push(`postgres: ${error}`));
  await isBack(world);
}

async function isBack(world: World): Promise<void> {
  if (await waitFor(() => answers(world), { deadlineMs: databaseUpMs }) === null) {
    world.notes.unstarted.push("postgres");
  }
}

async function answers(world: World): Promise<boolean> {
  const sql = openSql(world.databaseUrl);
  try {
    await Promise.race([sql`select 1`, pause(2_000).then(() => Promise.reject(new Error("late")))]);
    return true;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Sets something for the whole server, or takes it back, until it is so. */
async function alter(world: World, setting: string, value: string | null): Promise<void> {
  const change = value === null
    ? `alter system reset ${setting}`
    : `alter system set ${setting} = '${value}'`;
  // A session that asks what the others have; the proof's own never have it.
  const seen = postgres(world.databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 5 });
  try {
    await seen`select 1`;
    await waitFor(async () => {
      await world.sql.unsafe(change);
      return true;
    }, { deadlineMs: databaseUpMs });
    await world.sql`select pg_reload_conf()`;
    await waitFor(async () => {
      const [row] = await seen.unsafe(`select current_setting('${setting}') as value`);
      return String(row?.value) === (value ?? (setting.startsWith("default") ? "off" : ""));
    }, { deadlineMs: 5_000 });
    await pause(reloadMs);
  } finally {
    await seen.end({ timeout: 0 }).catch(() => {});
  }
}
