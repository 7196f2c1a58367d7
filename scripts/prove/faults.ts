/**
 * Performs each kind of step: causes the fault, waits, and ends it.
 *
 * @module
 */

import postgres from "postgres";
import { childrenOf, signalProcess } from "../processes.ts";
import type { Callers } from "./callers.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import type { PerformedStep } from "./history.ts";
import type { Kind, Step } from "./plan.ts";
import type { Place } from "./postgres_proxy.ts";
import type { Behavior } from "./sink.ts";
import type { ServiceNode, TestEnv } from "./test_env.ts";

type NoCommit = PerformedStep["noCommit"];

/** One connection without the driver's query for array types, whose failure would be an unhandled rejection. */
const probeOptions = { max: 1, connect_timeout: 5, fetch_types: false, onnotice: () => {} };
// A connection fault that has not occurred after this time is canceled.
const cutDeadlineMs = 1_500;
// Longer than the 24 hours of a content window.
const clockStepMs = 25 * 3_600_000;
const databaseUpMs = 60_000;
const cancelsCount = 8;
const cancelEveryMs = 80;
// The time for all sessions to apply a setting that one session has applied.
const reloadMs = 300;

/** Performs a step, including its end, and records it. */
export async function perform(step: Step, testEnv: TestEnv, callers: Callers): Promise<void> {
  const node = testEnv.nodes[step.node] as ServiceNode;
  const isNodeStep = step.lane === "node" || step.lane === "wire";
  const end = testEnv.recordStep(step.kind, isNodeStep ? step.node : null);
  let noCommit: NoCommit = null;
  try {
    noCommit = await inject(step, { testEnv, node, callers }) ?? null;
  } finally {
    end(noCommit);
  }
}

type Parts = { readonly testEnv: TestEnv; readonly node: ServiceNode; readonly callers: Callers };
type Fault = (parts: Parts, forMs: number) => Promise<NoCommit | void>;

async function inject(step: Step, parts: Parts): Promise<NoCommit | void> {
  const { kind, forMs } = step;
  const { testEnv, node } = parts;
  const [, how, place] = /^(cut|freeze)_(.+)$/.exec(kind) ?? [];
  if (place !== undefined && place !== "all") {
    return await faultConnection(node, place as Place, how === "cut" ? null : forMs);
  }
  if (kind.startsWith("downstream_")) {
    await testEnv.sink.setBehavior(kind.slice("downstream_".length) as Behavior);
    await pause(forMs);
    return void await testEnv.sink.setBehavior("normal");
  }
  return await faults[kind]?.(parts, forMs);
}

/** The faults by kind; each returns the span in which certainly no commit could be confirmed, if any. */
const faults: Partial<Record<Kind, Fault>> = {
  async postgres_kill({ testEnv }) {
    testEnv.server.kill("SIGKILL");
    await restartPostgres(testEnv);
  },
  async postgres_stop_now({ testEnv }) {
    testEnv.server.stopNow();
    await restartPostgres(testEnv);
  },
  postgres_stop: ({ testEnv }) => restartPostgres(testEnv),
  async postgres_freeze({ testEnv }, forMs) {
    const signalAll = (signal: NodeJS.Signals) => {
      const { pid } = testEnv.server;
      signalProcess(pid, signal);
      for (const child of childrenOf(pid)) signalProcess(child.pid, signal);
    };
    signalAll("SIGSTOP");
    // Signals again, for backends that started in the meantime.
    signalAll("SIGSTOP");
    const fromMs = nowMs();
    await pause(forMs);
    const toMs = nowMs();
    signalAll("SIGCONT");
    return { fromMs, toMs };
  },
  async backend_kill({ testEnv }) {
    const [row] = await testEnv.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where usename = 'proof_service' order by application_name like '%commit%' desc limit 1`;
    if (row !== undefined) signalProcess(row.pid, "SIGKILL");
    await waitForPostgres(testEnv);
  },
  async backends_terminate({ testEnv }) {
    await testEnv.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'proof_service'`;
  },
  read_only: ({ testEnv }, forMs) =>
    withServerSetting(testEnv, ["default_transaction_read_only", "on"], async (fromMs) => {
      await pause(forMs);
      return { fromMs, toMs: nowMs() };
    }),
  standby_lost: ({ testEnv }, forMs) =>
    withServerSetting(testEnv, ["synchronous_standby_names", "gone"], async (fromMs) => {
      let hasWaited = false;
      // Canceling a wait leaves a local commit, which must not be acknowledged. The first ones are from earlier posts,
      // so this cancels several times, and at once, because the service refuses posts after a missed heartbeat.
      for (let cancelled = 0; cancelled < cancelsCount; cancelled += 1) {
        await pause(cancelEveryMs);
        const rows = await testEnv.sql`
        select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event = 'SyncRep' and application_name like '%commit%'`;
        hasWaited ||= rows.length > 0;
      }
      const canceledAtMs = nowMs();
      await pause(forMs);
      return hasWaited ? { fromMs, toMs: nowMs(), canceledAtMs } : null;
    }),
  async disk_full({ testEnv }, forMs) {
    if (testEnv.disk === null) throw Object.assign(new Error("No small disk"), { code: "needs root" });
    testEnv.disk.fill();
    await pause(forMs);
    testEnv.disk.empty();
    // PostgreSQL panics without space for its WAL, and its recovery may lack space too.
    if (await waitFor(() => isPostgresUp(testEnv), { deadlineMs: 3_000 }) === null) {
      await restartPostgres(testEnv);
    }
  },
  async slots_exhausted({ testEnv }, forMs) {
    const url = new URL(testEnv.databaseUrl);
    url.username = url.password = "proof_service";
    const clients: postgres.Sql[] = [];
    for (let isFull = false; !isFull && clients.length < 200;) {
      const client = postgres(url.href, { ...probeOptions, connect_timeout: 2, idle_timeout: 0 });
      clients.push(client);
      isFull = await client`select 1`.then(() => false, () => true);
    }
    // When the service reconnects, it finds no free slot.
    await testEnv.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where usename = 'proof_service' and application_name like 'lead-intake %'`.catch(() => {});
    await pause(forMs);
    await Promise.all(clients.map((one) => one.end({ timeout: 0 }).catch(() => {})));
  },

  kill: (parts) => restart(parts, "SIGKILL"),
  terminate: (parts) => restart(parts, "SIGTERM"),
  async kill_with_clock_off(parts) {
    parts.node.clockOffMs = parts.node.clockOffMs === 0 ? 3_600_000 : 0;
    await restart(parts, "SIGKILL");
  },
  async stop({ node }, forMs) {
    node.process.signal("SIGSTOP");
    await pause(forMs);
    node.process.signal("SIGCONT");
  },
  async actions_kill({ testEnv }) {
    if (await testEnv.actions?.end("SIGKILL") === false) {
      testEnv.notes.failedStarts.push("actions, after a kill");
    }
  },
  async actions_stop({ testEnv }, forMs) {
    testEnv.actions?.signal("SIGSTOP");
    await pause(forMs);
    testEnv.actions?.signal("SIGCONT");
  },

  async cut_all({ node }) {
    await node.proxy.cut();
  },
  async silence_all({ node }, forMs) {
    node.proxy.blackHole();
    await pause(forMs);
  },
  async refuse_new({ node }, forMs) {
    node.proxy.isAccepting = false;
    await node.proxy.cut();
    await pause(forMs);
    node.proxy.isAccepting = true;
  },

  async revoke({ testEnv }) {
    const revokedIds = new Set(testEnv.notes.revocations.map(({ keyId }) => keyId));
    const key = testEnv.notes.keys.find(({ id, label }) => label.startsWith("spare-") && !revokedIds.has(id));
    if (key === undefined) return;
    await recordRevocation(
      testEnv,
      [key.id],
      () => insist(() => testEnv.sql`update api_key set revoked_at = service_clock() where id = ${key.id}`),
    );
  },
  async day_passes({ testEnv }) {
    await moveClock(testEnv, clockStepMs);
  },
  burst_of_key: ({ callers, node }) => callers.burst("burst_of_key", node.index),
  burst_of_address: ({ callers, node }) => callers.burst("burst_of_address", node.index),
  burst_of_forms: ({ callers, node }) => callers.burst("burst_of_forms", node.index),
};

/** Runs `act`, which revokes keys, and records the revocation; `until.undo` ends it. */
export async function recordRevocation(
  testEnv: TestEnv,
  keyIds: readonly number[],
  act: () => Promise<unknown>,
  until?: { readonly meanwhile: () => Promise<unknown>; readonly undo: () => Promise<unknown> },
): Promise<void> {
  const fromMs = nowMs();
  await act();
  const returnedAtMs = nowMs();
  const databaseMs = await databaseClock(testEnv);
  if (databaseMs === null) return;
  const notes = keyIds.map((keyId) => ({ keyId, fromMs, returnedAtMs, databaseMs }));
  testEnv.notes.revocations.push(...notes);
  if (until === undefined) return;
  await until.meanwhile();
  const again = { fromMs: nowMs(), databaseMs: await databaseClock(testEnv) ?? 0 };
  await until.undo();
  const ended = notes.map((one) => ({ ...one, reactivated: { ...again, toMs: nowMs() } }));
  testEnv.notes.revocations.splice(-notes.length, notes.length, ...ended);
}

/** Moves the database's clock forward or, with a negative step, back. */
export async function moveClock({ sql, notes: { clockSteps } }: TestEnv, stepMs: number): Promise<void> {
  const before = clockSteps.reduce((sum, step) => sum + step.stepMs, 0);
  const fromMs = nowMs();
  await insist(() =>
    sql.unsafe(
      `create or replace function service_clock() returns timestamptz language sql volatile parallel safe
       as $$ select clock_timestamp() + interval '${(before + stepMs) / 1000} seconds' $$`,
    )
  );
  clockSteps.push({ fromMs, toMs: nowMs(), stepMs });
}

async function restart({ testEnv, node }: Parts, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (!await node.process.end(signal)) {
    testEnv.notes.failedStarts.push(`service ${node.index}, after ${signal}`);
  }
}

async function faultConnection({ proxy }: ServiceNode, place: Place, haltMs: number | null): Promise<void> {
  const isEarly = place === "before_parse";
  const injected = proxy.injectFault({ place, how: haltMs !== null ? "halt" : isEarly ? "reset" : "close" });
  // Parse is sent only once per connection, so the service must reconnect.
  if (isEarly) await proxy.cut();
  const halted = await Promise.race([injected, pause(cutDeadlineMs).then(() => null)]);
  proxy.cancelFault();
  if (halted === null || haltMs === null) return;
  await pause(haltMs);
  halted.release();
}

async function databaseClock(testEnv: TestEnv): Promise<number | null> {
  return await waitFor(async () => {
    const [row] = await testEnv.sql<{ ms: number }[]>`
      select (extract(epoch from service_clock()) * 1000)::float8 as ms`;
    return row?.ms ?? null;
  }, { deadlineMs: 10_000, everyMs: 100 });
}

async function restartPostgres(testEnv: TestEnv): Promise<void> {
  await testEnv.server.restart().catch((error) => testEnv.notes.failedStarts.push(`postgres: ${error}`));
  await waitForPostgres(testEnv);
}

async function waitForPostgres(testEnv: TestEnv): Promise<void> {
  if (await waitFor(() => isPostgresUp(testEnv), { deadlineMs: databaseUpMs }) === null) {
    testEnv.notes.failedStarts.push("postgres");
  }
}

async function isPostgresUp(testEnv: TestEnv): Promise<boolean> {
  const sql = postgres(testEnv.databaseUrl, probeOptions);
  try {
    await Promise.race([sql`select 1`, pause(2_000).then(() => Promise.reject(new Error("late")))]);
    return true;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Runs `act` with the time from which a server-wide setting applied, and resets the setting even if `act` fails. */
async function withServerSetting(
  testEnv: TestEnv,
  [setting, value]: readonly [string, string],
  act: (fromMs: number) => Promise<NoCommit>,
): Promise<NoCommit> {
  // A separate session, because the proof's own connections override the server's settings.
  const observer = postgres(testEnv.databaseUrl, probeOptions);
  const change = async (statement: string, isApplied: (value: string) => boolean) => {
    await insist(async () => {
      await testEnv.sql.unsafe(statement);
      await testEnv.sql`select pg_reload_conf()`;
    });
    await waitFor(async () => {
      const [row] = await observer.unsafe(`select current_setting('${setting}') as value`);
      return isApplied(String(row?.value));
    }, { deadlineMs: 5_000 });
    await pause(reloadMs);
  };
  try {
    await change(`alter system set ${setting} = '${value}'`, (applied) => applied === value);
    return await act(nowMs());
  } finally {
    await change(`alter system reset ${setting}`, (applied) => applied !== value);
    await observer.end({ timeout: 0 }).catch(() => {});
  }
}

/** Repeats an idempotent statement until PostgreSQL has confirmed it: a connection may be lost before its response. */
async function insist(act: () => Promise<unknown>): Promise<void> {
  const isDone = await waitFor(async () => {
    await act();
    return true;
  }, { deadlineMs: databaseUpMs });
  if (isDone === null) throw new Error("PostgreSQL confirms no statement");
}
