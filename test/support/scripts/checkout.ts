/** Copies of the repository, for tests of commands that keep things in its folder. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A copy of what `npm start` and `npm test` need. */
export interface Checkout {
  /** Its path has a space in it. */
  readonly folder: string;
  remove(): void;
}

/** How the copy is made. */
export interface CheckoutOptions {
  /** Below a folder of mode 700, as under root's home: other accounts cannot reach it. */
  readonly hidden?: boolean;
  /** With tests, kits and documents. */
  readonly whole?: boolean;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const parts = ["src", "sql", "scripts", "package.json", "deno.json"];
const rest = ["test", "kits", "docs", "README.md", "CHANGELOG.md", "LICENSE"];
/** What is installed or made. */
const foreign = /\/(node_modules|target|dist|vendor)$/;

/** Copies the sources; the installed packages are shared. */
export function copyCheckout({ hidden = false, whole = false }: CheckoutOptions = {}): Checkout {
  const parent = mkdtempSync(join(tmpdir(), "lead-intake-test-"));
  const folder = join(parent, "a copy");
  mkdirSync(folder);
  for (const part of whole ? [...parts, ...rest] : parts) {
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !foreign.test(path),
    });
  }
  // Whatever the umask says; mkdtemp has given the parent 700.
  if (!hidden) spawnSync("chmod", ["-R", "a+rX", parent]);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { folder, remove: () => rmSync(parent, { recursive: true, force: true }) };
}
