import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./at_end.ts";

/** Creates an empty folder that is removed after the tests of the file; its name contains `about`. */
export function temporaryFolder(about = "test"): string {
  const folder = mkdtempSync(join(tmpdir(), `lead-intake-${about}-`));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
