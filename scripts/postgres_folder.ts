/** The embedded PostgreSQL's folder: choosing it, creating the data, and cleaning up after an earlier run. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Account,
  canReach,
  credentials,
  ownTemporaryFolder,
  type PostgresBinaries,
  serverAccount,
} from "./postgres_binaries.ts";
import { findProcess, isAlive, signalProcess } from "./processes.ts";

/** The superuser that `initdb` creates. */
export const superuser = "postgres";
/** How long an earlier run's server has to exit after each of three signals. */
const leftoverTimeoutMs = 10_000;
/** Between reads of the pid file; there is no signal to wait for. */
const pollMs = 10;

/** A server's files and the account that owns them. */
export interface Place {
  readonly folder: string;
  readonly dataFolder: string;
  /** The account that the server runs as; `undefined` means our own. */
  readonly account: Account | undefined;
  /** Removed with the server. */
  readonly temporary: boolean;
}

/**
 * Creates `folder`, or a temporary one if it is left out. If the server's account cannot reach it, uses another folder and
 * calls `onNotice`.
 */
export function choosePlace(
  wanted: string | undefined,
  onNotice: ((message: string) => void) | undefined,
): Place {
  if (wanted === undefined) return temporaryPlace();
  const folder = resolve(wanted);
  const dataFolder = join(folder, "postgres");
  mkdirSync(folder, { recursive: true });
  const account = serverAccount(dataFolder);
  if (account === undefined) {
    refuseForeignData(dataFolder);
    return { folder, dataFolder, account, temporary: false };
  }
  // The server's account must traverse the folder, not list it.
  if (lstatSync(folder).uid === process.getuid?.()) chmodSync(folder, lstatSync(folder).mode | 0o111);
  if (canReach(account, folder)) return { folder, dataFolder, account, temporary: false };

  const name = `lead-intake-${process.getuid?.()}-${folder.replaceAll(/[^A-Za-z0-9.]+/g, "-")}`;
  const instead = ownTemporaryFolder(name);
  onNotice?.(
    `PostgreSQL runs as ${account.name} and cannot reach ${folder}; its data is in ${instead}`,
  );
  return {
    folder: instead,
    dataFolder: join(instead, "postgres"),
    account: serverAccount(join(instead, "postgres")),
    temporary: false,
  };
}

function temporaryPlace(): Place {
  const make = (parent: string) => mkdtempSync(join(parent, "lead-intake-test-"));
  let folder = make(tmpdir());
  const account = serverAccount(join(folder, "postgres"));
  if (account !== undefined) {
    chmodSync(folder, 0o711);
    if (!canReach(account, folder)) {
      rmSync(folder, { recursive: true });
      folder = make("/tmp");
    }
    // Owned by the server's account, so that the watchdog can remove it.
    chownSync(folder, account.uid, account.gid);
  }
  return { folder, dataFolder: join(folder, "postgres"), account, temporary: true };
}

function refuseForeignData(dataFolder: string): void {
  const stat = lstatSync(dataFolder, { throwIfNoEntry: false });
  if (stat === undefined || stat.uid === process.getuid?.()) return;
  throw new Error(
    `${dataFolder} belongs to another user (uid ${stat.uid}): run as that user or as root, or remove it`,
  );
}

/** The process id and the state in `postmaster.pid`. */
export function readPidFile(dataFolder: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(dataFolder, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

/**
 * Stops a server that an earlier run left on this data, unless that run is still alive. Removes a stale pid file, even if
 * its id is now another process's (ids restart in a container), which the server itself would refuse to start over.
 *
 * Rejected: reusing the running server, because its version or settings may differ.
 */
export async function stopLeftover(place: Place): Promise<void> {
  const left = readPidFile(place.dataFolder);
  if (left === undefined) return;
  const runs = () => findProcess(left.pid)?.command.startsWith("postgres") ?? false;
  if (runs()) {
    const keeper = readKeeper(place);
    if (keeper !== undefined && isAlive(keeper)) {
      throw new Error(`${place.dataFolder} is in use by process ${keeper}: stop that one first`);
    }
    for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      signalProcess(left.pid, signal);
      const deadlineMs = Date.now() + leftoverTimeoutMs;
      while (runs() && Date.now() < deadlineMs) await delay(pollMs);
    }
  }
  if (existsSync(join(place.dataFolder, "postmaster.pid"))) {
    unlinkSync(join(place.dataFolder, "postmaster.pid"));
  }
}

/** Holds the id of the process that started the server and will stop it. */
export function keeperFile(place: Place): string {
  return join(place.folder, "postgres.keeper");
}

function readKeeper(place: Place): number | undefined {
  try {
    return Number(readFileSync(keeperFile(place), "utf8"));
  } catch {
    return undefined;
  }
}

function passwordFile(place: Place): string {
  return join(place.folder, "postgres.password");
}

/** Creates the data if there is none and returns the superuser's password. */
export async function ensureData(place: Place, binaries: PostgresBinaries): Promise<string> {
  if (existsSync(place.dataFolder)) {
    const version = readFileSync(join(place.dataFolder, "PG_VERSION"), "utf8").trim();
    if (version !== binaries.version.split(".")[0]) {
      throw new Error(
        `${place.dataFolder} was made by PostgreSQL ${version} and this is ${binaries.version}: move it away`,
      );
    }
    if (!existsSync(passwordFile(place))) {
      throw new Error(
        `${passwordFile(place)} is missing, so nobody can log in: move ${place.dataFolder} away`,
      );
    }
    return readFileSync(passwordFile(place), "utf8");
  }
  // Created under a temporary name, so that an interrupted initdb is not mistaken for data.
  const unfinished = `${place.dataFolder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const password = randomBytes(24).toString("base64url");
  rmSync(passwordFile(place), { force: true });
  writeFileSync(passwordFile(place), password, { mode: 0o600 });
  if (place.account !== undefined) {
    chownSync(unfinished, place.account.uid, place.account.gid);
    chownSync(passwordFile(place), place.account.uid, place.account.gid);
  }
  await runInitdb(place, binaries, unfinished);
  renameSync(unfinished, place.dataFolder);
  return password;
}

async function runInitdb(place: Place, binaries: PostgresBinaries, dataFolder: string): Promise<void> {
  const args = [
    `--pgdata=${dataFolder}`,
    "--encoding=UTF8",
    "--locale=C",
    `--username=${superuser}`,
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile(place)}`,
    "--no-instructions",
    // Temporary data need not survive a power failure.
    ...(place.temporary ? ["--no-sync"] : []),
  ];
  const child = spawn(binaries.initdb, args, {
    cwd: "/",
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
    ...credentials(place.account),
  });
  let output = "";
  child.stdout.on("data", (chunk) => output += chunk);
  child.stderr.on("data", (chunk) => output += chunk);
  const code = await new Promise((settle, reject) => child.on("close", settle).on("error", reject));
  if (code !== 0) throw new Error(`Could not create a database in ${place.folder}:\n${output.trim()}`);
}

/** The environment of the server's programs, without PGDATA, PGPORT and LC_ALL, which would mislead them. */
export function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" };
}
