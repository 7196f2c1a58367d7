/**
 * Checks all packages for known vulnerabilities, and exits with status 1 if there are any. If npm returns no report,
 * prints the cause and exits with status 0.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

interface Report {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly range: string }>
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
  console.log(`Not audited: npm returned no report (${message ?? error?.summary ?? "no reason given"})`);
} else {
  const found = Object.entries(vulnerabilities);
  for (const [name, { severity, range }] of found) console.log(`${severity}: ${name} ${range}`);
  console.log(`Packages with a known vulnerability: ${found.length}`);
  if (found.length > 0) process.exitCode = 1;
}
