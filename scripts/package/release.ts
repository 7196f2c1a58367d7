/**
 * Builds a release's folder with everything needed to run and operate the service, including Node. The machine needs
 * only PostgreSQL, openssl and systemd.
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

/** The files that are copied unchanged; {@linkcode programs} determines the rest of `scripts/`. */
const copiedParts = [
  "src",
  "sql",
  "package.json",
  "package-lock.json",
  "deno.json",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "docs/website",
  ...["install.sh", "upgrade.sh", "restore.sh", "install", "systemd", "monitoring", "backup", "check_node.js"]
    .map((name) => `scripts/${name}`),
];

/** The scripts that an operator runs. A release also includes their imports. */
const programs = ["migrate.ts", "ctl.ts", "build_site.ts"].map((name) => `scripts/${name}`);

/** The file with the digests by which the installer verifies a release's files. */
const manifestName = "SHA256SUMS";

export interface ReleaseOptions {
  /** The folder to fill; its contents are removed first. */
  readonly folder: string;
  readonly version: string;
}

/** Fills the folder with a release for this machine's processor. */
export async function makeRelease({ folder, version }: ReleaseOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of [...copiedParts, ...moduleClosure(programs)]) {
    copy(part, folder);
  }
  for (const name of readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))) {
    copy(`docs/${name}`, folder);
  }
  installPackages(folder);
  // This is the lock file's Node, which may not be the one that runs this script.
  mkdirSync(join(folder, "runtime"));
  copyFileSync(join(root, "node_modules/node/bin/node"), join(folder, "runtime/node"));
  setVersion(folder, version);
  await buildPrograms(folder);
  setModes(folder);
  writeFileSync(join(folder, manifestName), checksums(folder), { mode: 0o644 });
}

/** Returns the entry modules and those in `scripts/` that they import, directly or not. */
function moduleClosure(entries: readonly string[]): Set<string> {
  const modules = new Set<string>();
  const visit = (path: string) => {
    if (modules.has(path) || !path.startsWith("scripts/")) return;
    modules.add(path);
    for (const [, to = ""] of readFileSync(join(root, path), "utf8").matchAll(/ from "(\.[^"]+)";$/gm)) {
      visit(posix.join(posix.dirname(path), to));
    }
  };
  entries.forEach(visit);
  return modules;
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

/** Sets the version in package.json, which the service reads, and in VERSION, which scripts and people read. */
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
    const isExecutable = statSync(join(folder, path)).isDirectory() || path === "runtime/node" ||
      /^scripts\/((install|upgrade|restore)\.sh|install\/lead-\w+)$/.test(path);
    chmodSync(join(folder, path), isExecutable ? 0o755 : 0o644);
  }
}

function checksums(folder: string): string {
  const digest = (path: string) =>
    createHash("sha256").update(readFileSync(join(folder, path))).digest("hex");
  return filesUnder(folder, { folders: false }).map((path) => `${digest(path)}  ${path}\n`).join("");
}

function filesUnder(folder: string, { folders }: { readonly folders: boolean }): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => folders || statSync(join(folder, path)).isFile())
    .sort();
}
