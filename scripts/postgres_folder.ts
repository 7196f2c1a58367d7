/** Prepares the embedded PostgreSQL's folder: chooses it, creates the data, and cleans up after an earlier run. */

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
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Account,
  canTraverse,
  credentials,
  type PostgresBinaries,
  privateTemporaryFolder,
  serverAccount,
} from "./postgres_binaries.ts";
import { writePrivateFile } from "./private_file.ts";
import { findProcess, isAlive, signalProcess } from "./processes.ts";

/** The superuser that `initdb` creates. */
export const superuser = "postgres";
// How long an earlier run's server has to exit after each of three signals.
const orphanTimeoutMs = 10_000;
// How often the server's process is checked; there is no signal to wait for.
const pollMs = 10;

/** A server's folders and the account that runs the server. */
export interface ServerFolder {
  readonly folder: string;
  readonly dataFolder: string;
  /** `undefined` means our own account. */
  readonly account: Account | undefined;
  /** Whether the folder is temporary and is removed with the server. */
  readonly isTemporary: boolean;
}

/**
 * Creates the requested folder, or a temporary one. If the server's account cannot reach the requested folder, uses
 * one in the temporary directory and calls `onNotice`.
 */
export function chooseFolder(
  requested: string | undefined,
  onNotice: ((message: string) => void) | undefined,
): ServerFolder {
  if (requested === undefined) return temporaryFolder();
  const folder = resolve(requested);
  const dataFolder = join(folder, "postgres");
  mkdirSync(folder, { recursive: true });
  const account = serverAccount(dataFolder);
  if (account === undefined) {
    requireOwnData(dataFolder);
    return { folder, dataFolder, account, isTemporary: false };
  }
  // The server's account needs to traverse the folder, but not to list its contents.
  if (lstatSync(folder).uid === process.getuid?.()) chmodSync(folder, lstatSync(folder).mode | 0o111);
  if (canTraverse(account, folder)) return { folder, dataFolder, account, isTemporary: false };

  const name = `lead-intake-${process.getuid?.()}-${folder.replaceAll(/[^A-Za-z0-9.]+/g, "-")}`;
  const fallback = privateTemporaryFolder(name);
  onNotice?.(
    `PostgreSQL runs as ${account.name} and cannot reach ${folder}; its data is in ${fallback}`,
  );
  return {
    folder: fallback,
    dataFolder: join(fallback, "postgres"),
    account: serverAccount(join(fallback, "postgres")),
    isTemporary: false,
  };
}

function temporaryFolder(): ServerFolder {
  const make = (parent: string) => mkdtempSync(join(parent, "lead-intake-test-"));
  let folder = make(tmpdir());
  const account = serverAccount(join(folder, "postgres"));
  if (account !== undefined) {
    chmodSync(folder, 0o711);
    if (!canTraverse(account, folder)) {
      rmSync(folder, { recursive: true });
      folder = make("/tmp");
    }
    // The watchdog, which runs as the server's account, must be able to remove the folder.
    chownSync(folder, account.uid, account.gid);
  }
  return { folder, dataFolder: join(folder, "postgres"), account, isTemporary: true };
}

function requireOwnData(dataFolder: string): void {
  const stat = lstatSync(dataFolder, { throwIfNoEntry: false });
  if (stat === undefined || stat.uid === process.getuid?.()) return;
  throw new Error(
    `${dataFolder} belongs to another user (uid ${stat.uid}): run as that user or as root, or remove it`,
  );
}

/** Reads the process id and the state in `postmaster.pid`; returns `undefined` if there is no such file. */
export function readPidFile(dataFolder: string): { pid: number; isReady: boolean } | undefined {
  try {
    const lines = readFileSync(join(dataFolder, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), isReady: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

/**
 * Stops a server that an earlier run left on this data, and throws if that run is still alive. Removes a stale pid file,
 * even if another process has the same id (ids restart in a container), because the server would refuse to start.
 *
 * Rejected: reusing the running server, because its version or settings may differ.
 */
export async function stopOrphanedServer(folder: ServerFolder): Promise<void> {
  const orphan = readPidFile(folder.dataFolder);
  if (orphan === undefined) return;
  const isRunning = () => findProcess(orphan.pid)?.command.startsWith("postgres") ?? false;
  if (isRunning()) {
    const starterPid = readStarterPid(folder);
    if (starterPid !== undefined && isAlive(starterPid)) {
      throw new Error(`${folder.dataFolder} is in use by process ${starterPid}: stop that process first`);
    }
    for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      signalProcess(orphan.pid, signal);
      const deadlineMs = Date.now() + orphanTimeoutMs;
      while (isRunning() && Date.now() < deadlineMs) await delay(pollMs);
    }
  }
  if (existsSync(join(folder.dataFolder, "postmaster.pid"))) {
    unlinkSync(join(folder.dataFolder, "postmaster.pid"));
  }
}

/** Returns the path of the file that contains the id of the process that started the server and will stop it. */
export function starterPidFile(folder: ServerFolder): string {
  return join(folder.folder, "postgres.keeper");
}

function readStarterPid(folder: ServerFolder): number | undefined {
  try {
    return Number(readFileSync(starterPidFile(folder), "utf8"));
  } catch {
    return undefined;
  }
}

function passwordFile(folder: ServerFolder): string {
  return join(folder.folder, "postgres.password");
}

/** Creates the data if there is none, and returns the superuser's password. */
export async function ensureData(folder: ServerFolder, binaries: PostgresBinaries): Promise<string> {
  if (existsSync(folder.dataFolder)) {
    const version = readFileSync(join(folder.dataFolder, "PG_VERSION"), "utf8").trim();
    if (version !== binaries.version.split(".")[0]) {
      throw new Error(
        `PostgreSQL ${version} created ${folder.dataFolder}, but this is ${binaries.version}: move the folder away`,
      );
    }
    if (!existsSync(passwordFile(folder))) {
      throw new Error(
        `${passwordFile(folder)}, the superuser's password, is missing: move ${folder.dataFolder} away`,
      );
    }
    return readFileSync(passwordFile(folder), "utf8");
  }
  // The folder has a temporary name until initdb has succeeded, so that an unfinished one is not mistaken for data.
  const unfinished = `${folder.dataFolder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const password = randomBytes(24).toString("base64url");
  writePrivateFile(passwordFile(folder), password);
  if (folder.account !== undefined) {
    chownSync(unfinished, folder.account.uid, folder.account.gid);
    chownSync(passwordFile(folder), folder.account.uid, folder.account.gid);
  }
  await runInitdb(folder, binaries, unfinished);
  renameSync(unfinished, folder.dataFolder);
  return password;
}

async function runInitdb(
  folder: ServerFolder,
  binaries: PostgresBinaries,
  dataFolder: string,
): Promise<void> {
  const args = [
    `--pgdata=${dataFolder}`,
    "--encoding=UTF8",
    "--locale=C",
    `--username=${superuser}`,
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile(folder)}`,
    "--no-instructions",
    // Temporary data need not survive a power failure.
    ...(folder.isTemporary ? ["--no-sync"] : []),
  ];
  const child = spawn(binaries.initdb, args, {
    cwd: "/",
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
    ...credentials(folder.account),
  });
  let output = "";
  child.stdout.on("data", (chunk) => output += chunk);
  child.stderr.on("data", (chunk) => output += chunk);
  const code = await new Promise((resolve, reject) => child.on("close", resolve).on("error", reject));
  if (code !== 0) throw new Error(`Could not create the data in ${folder.folder}:\n${output.trim()}`);
}

/** Returns the environment of the server's programs, without PGDATA, PGPORT and the user's LC_ALL. */
export function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" };
}
