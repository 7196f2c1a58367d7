/**
 * Checks all packages for known vulnerabilities. Exit status 1 if there is one; 0 also if the registry is unreachable, with
 * a message, so that no run depends on it.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** npm's output: a report or an error. */
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
