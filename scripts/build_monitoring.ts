/**
 * Writes what Prometheus and Grafana read: the rules and the dashboard in `scripts/monitoring/`. With `--check` it only
 * compares: exit code 1 when a file is not what its sources make.
 *
 * @module
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dashboard } from "./monitoring/dashboard.ts";
import { rulesFile } from "./monitoring/rules.ts";

const folder = fileURLToPath(new URL("./monitoring/", import.meta.url));

const made: Readonly<Record<string, string>> = {
  "rules.yml": rulesFile(),
  "dashboard.json": `${JSON.stringify(dashboard(), null, 2)}\n`,
};
const stale = Object.entries(made).filter(([name, text]) =>
  !existsSync(folder + name) || readFileSync(folder + name, "utf8") !== text
);
if (!process.argv.includes("--check")) {
  for (const [name, text] of stale) {
    writeFileSync(folder + name, text);
  }
} else if (stale.length > 0) {
  const names = stale.map(([name]) => `scripts/monitoring/${name}`).join(", ");
  console.error(`${names}: not what the sources make; run: npx node scripts/build_monitoring.ts`);
  process.exitCode = 1;
}
