/**
 * The database: whether it can be used, keeps what was committed, is this program's, and is backed up.
 *
 * @module
 */

import { statSync } from "node:fs";
import type { ServerFacts } from "#src/store/operator/server_facts.ts";
import { leftBehind, readRelease, readStanding } from "#src/store/schema/release.ts";
import { compareRights } from "#src/store/schema/rights.ts";
import { failureSentence, storeFailure } from "#src/store/failure.ts";
import { type Check, type Database, failure, type Finding, ok, type Situation, warning } from "./check.ts";

const migration = "DATABASE_URL=$OWNER_URL npm run migrate";
// A deadline for statements that a healthy server answers in milliseconds.
const deadlineMs = 6_000;

/** What a check finds that needs the database, with what it says of itself. */
type DatabaseCheck = (
  facts: ServerFacts,
  database: Database,
  situation: Situation,
) => Finding[] | Promise<Finding[]>;

/** That it is away is said once. */
function whenThere(run: DatabaseCheck): Check["run"] {
  return async (situation) => {
    const { database } = situation;
    if (database === null) return [warning("not known without a database")];
    let facts: ServerFacts;
    try {
      facts = (await database.facts()).value;
    } catch {
      return [warning("not known while the database cannot be reached")];
    }
    return await run(facts, database, situation);
  };
}

async function reach({ database, isOfProcess }: Situation): Promise<Finding[]> {
  if (database !== null) return await reachAs(database, isOfProcess);
  return [
    failure(
      "DATABASE_URL is not set, and no npm start is running here",
      "set DATABASE_URL, or --settings FILE",
    ),
  ];
}

async function reachAs(database: Database, isOfProcess: boolean): Promise<Finding[]> {
  const { name } = database;
  try {
    const { value: facts, tookMs } = await database.facts();
    const found: Finding[] = [];
    if (facts.version < 140_000) {
      found.push(failure("PostgreSQL is older than 14", "pg_upgrade to 14 or later"));
    }
    if (facts.encoding !== "UTF8") {
      found.push(
        failure(`its encoding is ${facts.encoding}`, "create database … template template0 encoding 'UTF8'"),
      );
    }
    found.push(...roleFindings(facts, { name, isOfProcess }));
    const free = facts.connectionsMax - facts.connections;
    if (free < 5) {
      found.push(
        warning(
          `${free} of ${facts.connectionsMax} connections are left`,
          "alter system set max_connections = …, then a restart",
        ),
      );
    }
    if (found.length > 0) return found;
    const version = `${Math.floor(facts.version / 10_000)}.${facts.version % 10_000}`;
    return [ok(`PostgreSQL ${version} answers ${facts.role} in ${Math.ceil(tookMs)} ms`)];
  } catch (error) {
    const failed = storeFailure(error);
    const text = failed === null
      ? (error as Error).message
      : failureSentence(failed, { databaseUrl: database.url, name });
    return [failure(text, "systemctl status postgresql; journalctl -u postgresql")];
  }
}

function roleFindings(
  facts: ServerFacts,
  { name, isOfProcess }: { readonly name: string; readonly isOfProcess: boolean },
): Finding[] {
  if (!isOfProcess) return [];
  const group = name === "DATABASE_URL" ? "lead_service" : "lead_actions";
  if (facts.isSuperuser || facts.isOwner) {
    return [
      warning(
        `the process would run as ${facts.role}, who ${
          facts.isSuperuser ? "is a superuser" : "owns the tables"
        }`,
        `as a superuser: create role … login password '…' in role ${group}; and that one in ${name}`,
      ),
    ];
  }
  return facts.groups.includes(group) ? [] : [
    failure(`${facts.role} is no member of ${group}`, `as the owner: grant ${group} to ${facts.role}`),
  ];
}

function durability(facts: ServerFacts): Finding[] {
  const found: Finding[] = [];
  const set = (setting: string) => `alter system set ${setting}; select pg_reload_conf();`;
  if (facts.fsync !== "on") found.push(failure("fsync is off: a 202 could be lost", set("fsync = on")));
  if (facts.fullPageWrites !== "on") {
    found.push(failure("full_page_writes is off: a 202 could be lost", set("full_page_writes = on")));
  }
  if (facts.synchronousCommit === "off" || facts.synchronousCommit === "local") {
    found.push(
      failure(
        `synchronous_commit is ${facts.synchronousCommit}, although every connection of ours sets it on`,
        "let the pooler in between pass startup parameters on, or connect without it",
      ),
    );
  }
  if (facts.isStandby) {
    found.push(failure("it is a standby and takes no writes", "let DATABASE_URL name the primary"));
  } else if (facts.readsOnly === "on") {
    found.push(failure("default_transaction_read_only is on", set("default_transaction_read_only = off")));
  }
  if (facts.standbyNames !== "" && facts.standbys === 0 && !facts.isStandby) {
    found.push(failure("commits wait for a synchronous standby, and none is connected", "start the standby"));
  }
  if (facts.dataChecksums !== "on") {
    found.push(
      warning(
        "data checksums are off: a disk that decays is not noticed",
        "pg_checksums --enable, while the server is stopped",
      ),
    );
  }
  if (found.length > 0) return found;
  const copies = facts.standbyNames === ""
    ? "no synchronous standby"
    : `a synchronous standby, ${facts.standbyNames}`;
  return [ok(`fsync, full_page_writes, synchronous_commit and data checksums are on; ${copies}`)];
}

async function migrations(_: ServerFacts, { pool }: Database): Promise<Finding[]> {
  const release = await readRelease();
  const standing = await pool.run(deadlineMs, (sql) => readStanding(sql, release));
  if (standing.kind === "current") return [ok("every file of sql/ is applied as it is here")];
  if (standing.kind === "served") return [ok(`release ${standing.by} has migrated it, and serves this one`)];
  if (standing.kind === "left_behind") {
    return [failure(leftBehind(release, standing), "use ctl and the processes of a newer release")];
  }
  const missing = standing.files.map(({ name }) => name);
  const named = missing.slice(0, 3).join(", ") +
    (missing.length > 3 ? ` and ${missing.length - 3} more` : "");
  return [failure(`the database lacks ${named}`, migration)];
}

async function grants(_: ServerFacts, { pool }: Database): Promise<Finding[]> {
  const release = await readRelease();
  const { kind } = await pool.run(deadlineMs, (sql) => readStanding(sql, release));
  if (kind === "served" || kind === "left_behind") return [ok("the grants are a newer release's")];
  const { missing, surplus } = await compareRights(pool);
  const named = (lines: readonly string[]) =>
    lines.slice(0, 3).join("; ") + (lines.length > 3 ? `; and ${lines.length - 3} more` : "");
  const found: Finding[] = [];
  if (missing.length > 0) found.push(failure(`not granted: ${named(missing)}`, migration));
  if (surplus.length > 0) found.push(failure(`granted beyond sql/grants.sql: ${named(surplus)}`, migration));
  return found.length > 0
    ? found
    : [ok("lead_service and lead_actions have the rights of sql/grants.sql, and no others")];
}

// A nightly backup, and two hours for it.
const backupAgeMaxMs = 26 * 3_600_000;
const dump =
  'pg_dump --format=custom --file=FILE "$OWNER_URL" && touch STAMP, nightly; then ctl doctor --backup-stamp STAMP';

function backup(facts: ServerFacts, _: Database, { backupStamp, nowMs }: Situation): Finding[] {
  const found: Finding[] = [];
  if (backupStamp !== null) {
    const stat = statSync(backupStamp, { throwIfNoEntry: false });
    found.push(
      stat === undefined
        ? failure(`no backup has left its mark at ${backupStamp}`, dump)
        : aged("the last backup", stat.mtimeMs, { nowMs, mend: dump }),
    );
  }
  if (facts.archiveMode !== "off") {
    const { lastArchivedAt, lastFailedAt } = facts;
    if (lastFailedAt !== null && (lastArchivedAt === null || lastFailedAt > lastArchivedAt)) {
      found.push(
        failure(
          `archiving of the log fails since ${lastFailedAt}`,
          "the server's log says why; then archive_command",
        ),
      );
    } else if (lastArchivedAt === null) {
      found.push(warning("archive_mode is on, and nothing was ever archived", "select pg_switch_wal();"));
    } else {
      found.push(
        aged("the last archived log", Date.parse(lastArchivedAt), {
          nowMs,
          mend: "alter system set archive_timeout = '1h'; select pg_reload_conf();",
        }),
      );
    }
  }
  if (found.length > 0) return found;
  const copies = facts.standbys > 0 ? " (a standby is none: it repeats every mistake)" : "";
  return [warning(`no backup is known${copies}`, dump)];
}

function aged(
  what: string,
  atMs: number,
  { nowMs, mend }: { readonly nowMs: number; readonly mend: string },
): Finding {
  const hours = Math.max(0, Math.round((nowMs - atMs) / 3_600_000));
  const text = `${what} is ${hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`} old`;
  return nowMs - atMs > backupAgeMaxMs ? failure(text, mend) : ok(text);
}

/** The checks. */
export const databaseChecks: readonly Check[] = [
  { name: "Database", run: reach },
  {
    name: "Database, actions",
    run: ({ actionsDatabase, isOfProcess }) =>
      actionsDatabase === null ? Promise.resolve([]) : reachAs(actionsDatabase, isOfProcess),
  },
  { name: "Durability", run: whenThere(durability) },
  { name: "Migrations", run: whenThere(migrations) },
  { name: "Grants", run: whenThere(grants) },
  { name: "Backup", run: whenThere(backup) },
];
