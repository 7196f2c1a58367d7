/** Writes files that only their owner can read, such as logs and secrets. */

import { rmSync, writeFileSync } from "node:fs";

/** Replaces a file. `mode` alone does not change the mode of an existing file, or who has it open. */
export function writePrivateFile(file: string, text: string): void {
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600, flag: "wx" });
}
