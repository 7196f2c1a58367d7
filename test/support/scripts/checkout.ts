/** Copies the repository, for tests of commands that write to its folder. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../folder.ts";

/** Options of the copy. */
export interface CheckoutOptions {
  /** Below a folder of mode 700, as under root's home, which other accounts cannot reach. */
  readonly hidden?: boolean;
  /** With tests, kits and documents. */
  readonly whole?: boolean;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const parts = ["src", "sql", "scripts", "package.json", "deno.json"];
const rest = ["test", "kits", "docs", "README.md", "CHANGELOG.md", "LICENSE"];
/** Installed or built files. */
const foreign = /\/(node_modules|target|dist|vendor)$/;

/** Copies the sources to a folder whose path contains a space, until the tests end; the installed packages are shared. */
export function copyCheckout({ hidden = false, whole = false }: CheckoutOptions = {}): string {
  const parent = temporaryFolder();
  const folder = join(parent, "a copy");
  mkdirSync(folder);
  for (const part of whole ? [...parts, ...rest] : parts) {
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !foreign.test(path),
    });
  }
  // Independent of the umask; mkdtemp has given the parent mode 700.
  if (!hidden) spawnSync("chmod", ["-R", "a+rX", parent]);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}
