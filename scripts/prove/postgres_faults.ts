/**
 * What is done to PostgreSQL, and how it is undone.
 *
 * @module
 */

import postgres from "postgres";
import { childrenOf, signalProcess } from "../processes.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { openSql } from "./database.ts";
import type { Happened } from "./history.ts";
import type { Kind, kinds } from "./plan.ts";
import type { ServiceNode, World } from "./world.ts";

/** What a step works with. */
export interface FaultParts {
  readonly world: World;
  readonly node: ServiceNode;
}

type NoCommit = Happened["noCommit"];

const databaseUpMs = 60_000;
const cancelsCount = 8;
const cancelEveryMs = 80;
// After the server has told one session of a new setting, the others have it too.
const reloadMs = 300;

/** By kind; each returns the span in which no commit could be confirmed, where it is certain that there was one. */
export const postgresFaults: Readonly<
  Record<Kind & typeof kinds.postgres[number], (parts: FaultParts, forMs: number) => Promise<NoCommit | void>>
> = {
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
};

/** Starts PostgreSQL again, after its end. */
async function startAgain(world: World): Promise<void> {
  await world.server.restart().catch((error) => world.unstarted.push(`postgres: ${error}`));
  await isBack(world);
}

async function isBack(world: World): Promise<void> {
  if (await waitFor(() => answers(world), { deadlineMs: databaseUpMs }) === null) {
    world.unstarted.push("postgres");
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
