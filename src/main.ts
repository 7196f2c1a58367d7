/**
 * The service process.
 *
 * @module
 */

import process from "node:process";
import { readConfig } from "./settings/config.ts";
import { run } from "./service/run.ts";
import { startService } from "./service/start.ts";

await run({
  start: (log) => startService(readConfig(process.env), log),
  settings: { database: "DATABASE_URL", listen: "INTAKE_LISTEN", group: "lead_service" },
  environment: process.env,
});
