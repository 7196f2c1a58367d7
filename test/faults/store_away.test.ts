/**
 * PostgreSQL is killed, stopped, made read-only, filled up, or out of connection slots, under load.
 *
 * The figures are the issue's: 503 within 10 s, `store_writable` false within 2 s, accepting again within 2 s of
 * the healing, without a restart of the service.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { isLeftOut } from "../../scripts/test_plan.ts";
import connect from "postgres";
import { childrenOf, signalProcess } from "../../scripts/processes.ts";
import { until } from "../support/until.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { type Chance, chanceOf, rounds } from "../support/faults/random.ts";
import { stand, storeWritable } from "../support/faults/stand.ts";
import { withSql } from "../support/faults/store.ts";

// On a machine that two other test runs share, a process may wait this long for its turn.
const slackMs = 1_000;
const unwritableWithinMs = 2_000 + slackMs;
const healedWithinMs = 2_000 + slackMs;
const refusedWithinMs = 10_000 + slackMs;
// Known unwritable: no request waits for anything.
const failFastMs = 1_000;

const settings = { max_connections: 12, superuser_reserved_connections: 0 };
const { apiKey, databaseUrl, history, intakeUrls, postgres, proxy, server } = await stand({
  proxy: true,
  settings,
});

// Another database of the server: its connections are not held to what is set for ours.
const maintenanceUrl = postgres.server.url;
const databaseName = new URL(databaseUrl).pathname.slice(1);

interface Outage {
  readonly chance: Chance;
  readonly breakIt: () => Promise<void> | void;
  /** Runs when the store is known not to be writable. */
  readonly meanwhile?: () => Promise<void>;
  readonly healIt: () => Promise<void> | void;
}

/** While the store is known to be away, nothing waits for it. */
async function refusedAtOnce(chance: Chance): Promise<void> {
  for (let n = 1; n <= 20; n++) {
    const idempotencyKey = history.freshKey("known");
    const sentAtMs = performance.now();
    const outcome = await history.post(server.url, {
      apiKey: apiKey.key,
      idempotencyKey,
      body: leadBody(chance, n),
    });
    assert.equal(outcome.kind, "not_accepting");
    assert.ok(performance.now() - sentAtMs < failFastMs, "503 at once while the store is known to be away");
  }
}

/** Breaks the store under load, heals it, and holds the service to the figures. */
async function survive(t: TestContext, outage: Outage): Promise<void> {
  const first = history.entries.length;
  const load = new Load(t, { history, chance: outage.chance, apiKeys: [apiKey.key], intakeUrls, clients: 8 });
  await load.accepted(50);

  let isHealed = false;
  t.after(() => isHealed ? undefined : outage.healIt());
  await outage.breakIt();
  const falseMs = await storeWritable(server.url, false, unwritableWithinMs);
  await refusedAtOnce(outage.chance);
  if (outage.meanwhile !== undefined) {
    await outage.meanwhile();
    await refusedAtOnce(outage.chance);
  }

  await outage.healIt();
  isHealed = true;
  const healedAtMs = performance.now();
  await storeWritable(server.url, true, healedWithinMs);
  await until(async () => {
    const idempotencyKey = history.freshKey("healed");
    const request = { apiKey: apiKey.key, idempotencyKey, body: leadBody(outage.chance, 1) };
    return (await history.post(server.url, request)).kind === "accepted";
  }, { deadlineMs: healedAtMs + healedWithinMs - performance.now(), what: "a lead is accepted again" });
  const healedMs = performance.now() - healedAtMs;

  await load.accepted(50);
  await load.stop();
  const slowest = history.entries.slice(first).reduce((a, b) => a.durationMs > b.durationMs ? a : b);
  t.diagnostic(
    `store_writable false after ${Math.round(falseMs)} ms; accepting ${Math.round(healedMs)} ms after the ` +
      `healing; slowest answer ${slowest.outcome?.kind} after ${Math.round(slowest.durationMs)} ms; ${
        history.summary(first)
      }`,
  );
  assert.ok(slowest.durationMs < refusedWithinMs, "every answer came within 10 s");
  assert.equal(history.count("no_answer", first), 0, "every request was answered");
  assert.equal(history.count("refused", first), 0, "every refusal was 503");
  await history.check(databaseUrl);
}

test("PostgreSQL killed with SIGKILL and restarted: 503 at once, accepting again within 2 s, every 202 in the store once", async (t) => {
  const chance = chanceOf(t);
  for (let round = 1; round <= rounds(2); round++) {
    await survive(t, {
      chance,
      breakIt: () => postgres.server.kill("SIGKILL"),
      healIt: () => postgres.server.restart(),
    });
  }
});

test("one backend of PostgreSQL killed with SIGKILL: it restarts by itself, and every 202 is in the store once", async (t) => {
  const chance = chanceOf(t);
  const first = history.entries.length;
  const load = new Load(t, { history, chance, apiKeys: [apiKey.key], intakeUrls, clients: 16 });
  for (let round = 1; round <= rounds(3); round++) {
    await load.accepted(20 + chance.below(100));
    const backends = await withSql(databaseUrl, (sql) =>
      sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name like 'lead-intake %'`);
    signalProcess(chance.pick(backends).pid, "SIGKILL");
  }
  await load.accepted(50);
  await load.stop();
  t.diagnostic(history.summary(first));
  assert.ok(childrenOf(postgres.server.pid).length > 0);
  await history.check(databaseUrl);
});

test("PostgreSQL stopped with SIGSTOP for longer than the commit's deadline: 503 within 10 s, at once when that is known, accepting again within 2 s", async (t) => {
  await survive(t, {
    chance: chanceOf(t),
    breakIt: () => postgres.freeze(),
    meanwhile: () =>
      until(() => history.entries.every((entry) => entry.outcome !== undefined), {
        deadlineMs: refusedWithinMs,
        what: "what was under way is answered",
      }).then(() => {}),
    healIt: () => postgres.thaw(),
  });
});

test("the store made read-only: 503 at once, and accepting again within 2 s of its end", async (t) => {
  const set = (value: "on" | "off") =>
    withSql(databaseUrl, async (sql) => {
      // This connection itself would be held to it.
      await sql`set transaction_read_only = off`;
      await sql.unsafe(`alter system set default_transaction_read_only = ${value}`);
      await sql`select pg_reload_conf()`;
    });
  await survive(t, { chance: chanceOf(t), breakIt: () => set("on"), healIt: () => set("off") });
});

test("connections that were opened while the store was read-only do not outlive that: accepting again within 2 s", async (t) => {
  const set = (text: string) =>
    withSql(maintenanceUrl, (sql) => sql.unsafe(`alter database "${databaseName}" ${text}`)).then(() => {});
  await survive(t, {
    chance: chanceOf(t),
    async breakIt() {
      await set("set default_transaction_read_only = on");
      await withSql(maintenanceUrl, (sql) =>
        sql`
        select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'lead-intake %'`);
    },
    healIt: () => set("reset default_transaction_read_only"),
  });
});

test("every connection slot of PostgreSQL taken, after its connections were cut: 503 at once, and accepting again within 2 s of their release", async (t) => {
  const hog = connect(databaseUrl, { max: 12, onnotice: () => {} });
  t.after(() => hog.end({ timeout: 0 }));
  const taken: connect.ReservedSql[] = [];
  await survive(t, {
    chance: chanceOf(t),
    async breakIt() {
      proxy.acceptsNew = false;
      await proxy.cut();
      await until(async () => {
        taken.push(await hog.reserve());
        return taken.length === settings.max_connections;
      }, { what: "every slot is taken" });
      proxy.acceptsNew = true;
    },
    healIt: () => hog.end({ timeout: 0 }),
  });
});

test("PostgreSQL shut down in order and started again: 503 at once, accepting again within 2 s", async (t) => {
  const { server } = postgres;
  await survive(t, {
    chance: chanceOf(t),
    async breakIt() {
      server.kill("SIGINT");
      await server.ended;
    },
    healIt: () => server.restart(),
  });
});

// The last test: PostgreSQL needs the disk from then on. Mounting takes root.
if (!isLeftOut("test/faults/store_away: full disk")) {
  const smallDisk = mountSmallDisk();
  // After the stand's own, so that PostgreSQL is gone.
  after(() => unmount(smallDisk));
  test("the disk of PostgreSQL full: 503 and store_writable false, and accepting again within 2 s after room was made, without a restart", async (t) => {
    const { uid, gid } = statSync(postgres.server.dataFolder);
    const [folder, filler] = [join(smallDisk, "tables"), join(smallDisk, "filler")];
    mkdirSync(folder);
    chownSync(folder, uid, gid);
    await withSql(databaseUrl, async (sql) => {
      await sql.unsafe(`create tablespace small location '${folder}'`);
      for (const kind of ["table", "index"]) {
        await sql.unsafe(`alter ${kind} all in tablespace pg_default set tablespace small`);
      }
    });
    const refusedPages = () =>
      readFileSync(postgres.server.logFile, "utf8").split("could not extend file").length;
    const refusedBefore = refusedPages();
    await survive(t, {
      chance: chanceOf(t),
      breakIt: () => fill(filler),
      // Eight beats take longer than the service waits after a refused commit: none of them finds a page.
      meanwhile: () =>
        until(() => refusedPages() >= refusedBefore + 8, { what: "beats are refused" }).then(() => {}),
      healIt: () => rmSync(filler),
    });
  });
}

function mountSmallDisk(): string {
  const folder = mkdtempSync(join(tmpdir(), "lead-intake-disk-"));
  chmodSync(folder, 0o755);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=32m,mode=755", "tmpfs", folder]);
  return folder;
}

function unmount(folder: string): void {
  execFileSync("umount", [folder]);
  rmdirSync(folder);
}

/** Writes until there is no room left. */
function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    while (true) writeSync(file, new Uint8Array(64 * 1024));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
  } finally {
    closeSync(file);
  }
}
