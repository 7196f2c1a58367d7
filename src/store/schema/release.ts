/**
 * What a release of this program brings for the database: the files under its `sql/`, and which older releases go on working
 * on a database that has them.
 *
 * `sql/` holds numbered files for tables, each applied once; `sql/functions/` the current text of every function;
 * `sql/grants.sql` who may do what; and `sql/serves.txt` the older releases, a line each.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import manifest from "../../../package.json" with { type: "json" };

/** A file under `sql/`. */
export interface SqlFile {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

/** A release, as the database remembers it. */
export interface ReleaseName {
  readonly version: string;
  /** A digest of its files under `sql/`: two releases with one need the same database. */
  readonly fingerprint: string;
}

/** What a release brings. */
export interface Release extends ReleaseName {
  /** In the order in which they are applied. */
  readonly files: readonly SqlFile[];
  /** Older releases that may be running, and may be started, on a database that was migrated by this one. */
  readonly serves: readonly ReleaseName[];
}

/** Says who may do what. A restored database has lost some of it. */
export const grantsFile = "grants.sql";

const ownFolder = fileURLToPath(new URL("../../../sql/", import.meta.url));

/** Reads the release whose files are in `folder`: this program's own, unless told otherwise. */
export async function readRelease(
  { version = manifest.version, folder = ownFolder }: {
    readonly version?: string;
    readonly folder?: string;
  } = {},
): Promise<Release> {
  const [files, serves] = await Promise.all([readFiles(folder), readFile(`${folder}serves.txt`, "utf8")]);
  const fingerprint = digestOf(files.map(({ name, digest }) => `${name} ${digest}\n`).join(""));
  return { version, fingerprint, files, serves: parseServes(serves) };
}

async function readFiles(folder: string): Promise<SqlFile[]> {
  const [top, functions] = await Promise.all([readdir(folder), readdir(`${folder}functions/`)]);
  const names = [
    ...top.filter(isNumbered).sort(),
    ...functions.filter((name) => name.endsWith(".sql")).sort().map((name) => `functions/${name}`),
    grantsFile,
  ];
  return Promise.all(names.map(async (name) => {
    const text = await readFile(folder + name, "utf8");
    return { name, text, digest: digestOf(text) };
  }));
}

/** Whether a file is one of those that are applied once. */
export function isNumbered(name: string): boolean {
  return /^\d{4}_\w+\.sql$/.test(name);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function parseServes(text: string): ReleaseName[] {
  return text.split("\n").filter((line) => !/^\s*(#|$)/.test(line)).map((line) => {
    const [, version, fingerprint] = /^(\d+\.\d+\.\d+) ([0-9a-f]{64})$/.exec(line.trim()) ?? [];
    if (version === undefined || fingerprint === undefined) {
      throw new Error(`sql/serves.txt has a line that is no version with a fingerprint: ${line}`);
    }
    return { version, fingerprint };
  });
}

/** Whether one version is newer than another. */
export function isNewer(version: string, than: string): boolean {
  const parts = (text: string) => text.split(".").map(Number);
  const [one, other] = [parts(version), parts(than)];
  const at = one.findIndex((part, index) => part !== other[index]);
  return at !== -1 && (one[at] ?? 0) > (other[at] ?? 0);
}
