/**
 * Asks the registry whether a fault is known of a package that production or development uses. Exit
 * status 1 when one is; 0 also when the registry cannot be asked, which is said, so that no run depends on it.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What npm prints: a report, or why there is none. */
interface Report {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly range: string; readonly isDirect: boolean }>
  >;
  readonly message?: string;
  readonly error?: { readonly summary?: string };
}

function readReport(): Report {
  const { stdout } = spawnSync("npm", ["audit", "--json"], {
    cwd: fileURLToPath(new URL("../", import.meta.url)),
    encoding: "utf8",
  });
  try {
    return JSON.parse(stdout);
  } catch {
    return {};
  }
}

const { vulnerabilities, message, error } = readReport();
if (vulnerabilities === undefined) {
  console.log(`Not audited: the registry does not answer (${message ?? error?.summary ?? "no report"})`);
} else {
  const found = Object.entries(vulnerabilities);
  for (const [name, { severity, range }] of found) console.log(`${severity}: ${name} ${range}`);
  console.log(`${found.length} of the packages have a known fault`);
  if (found.length > 0) process.exitCode = 1;
}
