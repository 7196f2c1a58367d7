/** Folders for what a test writes. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./at_end.ts";

/** Makes an empty folder that goes with the tests of the file; `about` is in its name. */
export function temporaryFolder(about = "test"): string {
  const folder = mkdtempSync(join(tmpdir(), `lead-intake-${about}-`));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
