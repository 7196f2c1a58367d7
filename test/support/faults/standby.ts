/** A second PostgreSQL that follows the first by streaming replication until it is promoted. */

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EmbeddedPostgres, startPostgres } from "../../../scripts/embedded_postgres.ts";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { until } from "../until.ts";
import { withSql } from "../database.ts";

/** A running standby. */
export interface Standby {
  readonly server: EmbeddedPostgres;
  /** As the superuser, on the database `postgres`. */
  readonly url: string;
  /** Waits until it has replayed everything that the primary has written so far. */
  caughtUp(): Promise<void>;
  /** Promotes it and waits until it accepts writes. */
  promote(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Copies a running server's data like a base backup and starts a standby on the copy, on a free port or on another
 * loopback address and the primary's port.
 */
export async function startStandby(primary: EmbeddedPostgres, host?: string): Promise<Standby> {
  const folder = temporaryFolder("standby");
  const dataFolder = join(folder, "postgres");
  chmodSync(folder, 0o711);
  await withSql(primary.url, async (sql) => {
    await sql`select pg_backup_start('standby', true)`;
    // A file may be deleted during the copy; the WAL contains what is missing.
    spawnSync("cp", ["-a", primary.dataFolder, dataFolder]);
    const [row] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`;
    rmSync(join(dataFolder, "postmaster.pid"), { force: true });
    own(dataFolder, "backup_label", row?.labelfile ?? "");
  });
  makeReplica(dataFolder);
  own(folder, "postgres.password", new URL(primary.url).password, dataFolder);
  const server = await startPostgres({
    folder,
    settings: {
      primary_conninfo: connectionTo(primary),
      ...(host === undefined ? {} : { listen_addresses: host, port: primary.port }),
    },
  });
  atEnd(() => server.stop());
  const url = host === undefined ? server.url : primary.url.replace("127.0.0.1", host);
  const at = (expression: string, on: string) =>
    withSql(on, async (sql) => (await sql.unsafe(`select ${expression} as position`))[0]?.position);
  return {
    server,
    url,
    async caughtUp() {
      const written = await at("pg_current_wal_lsn()", primary.url);
      await until(() => at(`pg_last_wal_replay_lsn() >= '${written}'`, url), {
        deadlineMs: 30_000,
        what: "the standby has everything",
      });
    },
    promote: () => withSql(url, (sql) => sql`select pg_promote(true, 60)`).then(() => {}),
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes a stopped server start as a standby of another. */
export function makeReplica(dataFolder: string): void {
  own(dataFolder, "standby.signal", "");
}

/** Returns the `primary_conninfo` of a standby of this server. */
export function connectionTo({ url, port }: EmbeddedPostgres): string {
  const { username, password } = new URL(url);
  return `host=127.0.0.1 port=${port} user=${username} password=${password}`;
}

/** Writes a file with the owner of the server's data. */
function own(folder: string, name: string, text: string, like = folder): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  const { uid, gid } = statSync(like);
  chownSync(path, uid, gid);
}
