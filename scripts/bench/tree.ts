/**
 * A checkout whose service is measured: this one, or another one to compare it with.
 *
 * @module
 */

import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder, run } from "./programs.ts";

/** A checkout. */
export interface Tree {
  readonly name: string;
  readonly folder: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The one that this file is in. */
export const thisTree: Tree = { name: "this tree", folder: root };

/**
 * Another one: a folder, or a commit by any name that git knows, which is put into the build folder. It runs with this
 * one's packages.
 */
export async function openTree(reference: string): Promise<Tree> {
  if (existsSync(join(reference, "src/main.ts"))) return { name: reference, folder: resolve(reference) };
  const folder = join(buildFolder, "against");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  await run("git", ["archive", `--output=${archive}`, reference], { cwd: root, timeoutMs: 60_000 });
  await run("tar", ["-xf", archive, "-C", folder], { timeoutMs: 60_000 });
  rmSync(archive);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { name: reference, folder };
}
