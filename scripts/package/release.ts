/**
 * A release's tree: everything needed to run and operate the service, including Node; the machine only needs PostgreSQL,
 * openssl and systemd.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPrograms } from "./programs.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Files copied unchanged; the rest of `scripts/` follows from {@linkcode programs}. */
const parts = [
  ...["src", "sql", "package.json", "package-lock.json", "deno.json", "LICENSE", "README.md", "CHANGELOG.md"],
  ...["install.sh", "upgrade.sh", "install", "systemd", "check_node.js"].map((name) => `scripts/${name}`),
];

/** Scripts that an operator runs; their imports are included. Tests, benchmarks and generators are not. */
const programs = ["migrate.ts", "ctl.ts", "build_site.ts"].map((name) => `scripts/${name}`);

/** Further folders that an operator needs. */
const optional = ["scripts/monitoring", "scripts/backup", "scripts/restore.sh"];

/** The digests of a release's files, with which the installer verifies it. */
const manifestName = "SHA256SUMS";

/** How to build a release. */
export interface ReleaseOptions {
  /** The folder to fill; its contents are removed first. */
  readonly folder: string;
  readonly version: string;
}

/** Fills the folder with a release for this machine's processor. */
export async function makeRelease({ folder, version }: ReleaseOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of [...parts, ...optional.filter(isThere), ...modulesOf(programs)]) copy(part, folder);
  for (const name of readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))) {
    copy(`docs/${name}`, folder);
  }
  installPackages(folder);
  // The lock file's Node, whichever Node runs this.
  mkdirSync(join(folder, "runtime"));
  copyFileSync(join(root, "node_modules/node/bin/node"), join(folder, "runtime/node"));
  setVersion(folder, version);
  await buildPrograms(folder);
  setModes(folder);
  writeFileSync(join(folder, manifestName), manifestOf(folder), { mode: 0o644 });
}

function isThere(part: string): boolean {
  return statSync(join(root, part), { throwIfNoEntry: false }) !== undefined;
}

/** These modules of `scripts/` and the ones that they import. */
function modulesOf(entries: readonly string[]): Set<string> {
  const found = new Set<string>();
  const follow = (path: string) => {
    if (found.has(path) || !path.startsWith("scripts/")) return;
    found.add(path);
    for (const [, to = ""] of readFileSync(join(root, path), "utf8").matchAll(/ from "(\.[^"]+)";$/gm)) {
      follow(posix.join(posix.dirname(path), to));
    }
  };
  entries.forEach(follow);
  return found;
}

function copy(part: string, folder: string): void {
  mkdirSync(dirname(join(folder, part)), { recursive: true });
  cpSync(join(root, part), join(folder, part), { recursive: true });
}

function installPackages(folder: string): void {
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  execFileSync("npm", ["ci", ...options, "--loglevel=error"], { cwd: folder, stdio: ["ignore", 2, 2] });
  rmSync(join(folder, "node_modules/.package-lock.json"), { force: true });
}

/** The service reads its version from package.json; scripts and people read the file VERSION. */
function setVersion(folder: string, version: string): void {
  const file = join(folder, "package.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^( {2}"version": )".*"/m, `$1${JSON.stringify(version)}`));
  writeFileSync(join(folder, "VERSION"), `${version}\n`);
}

/** Sets file modes, so that they do not depend on the builder's umask. */
function setModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const path of filesUnder(folder, { folders: true })) {
    const isRun = statSync(join(folder, path)).isDirectory() || path === "runtime/node" ||
      /^scripts\/((install|upgrade|restore)\.sh|install\/lead-\w+)$/.test(path);
    chmodSync(join(folder, path), isRun ? 0o755 : 0o644);
  }
}

function manifestOf(folder: string): string {
  const digest = (path: string) =>
    createHash("sha256").update(readFileSync(join(folder, path))).digest("hex");
  return filesUnder(folder, { folders: false }).map((path) => `${digest(path)}  ${path}\n`).join("");
}

function filesUnder(folder: string, { folders }: { readonly folders: boolean }): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => folders || statSync(join(folder, path)).isFile())
    .sort();
}
