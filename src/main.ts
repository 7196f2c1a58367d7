/**
 * The service process.
 *
 * @module
 */

import process from "node:process";
import { readConfig } from "./config.ts";
import { run } from "./run.ts";
import { startService } from "./service.ts";

await run({
  start: (log) => startService(readConfig(process.env), log),
  settings: { database: "DATABASE_URL", listen: "INTAKE_LISTEN", group: "lead_service" },
  environment: process.env,
});
