/** The service process. */

import process from "node:process";
import { run } from "./process/run.ts";
import { readConfig } from "./settings/config.ts";
import { takeCredentials } from "./settings/credentials.ts";
import { inheritedSockets } from "./settings/inherited.ts";
import { startService } from "./service/start.ts";

await run({
  start: (log) => {
    takeCredentials(process.env);
    return startService(readConfig(process.env, inheritedSockets(process.env, process.pid)), log);
  },
  settings: { database: "DATABASE_URL", listen: "INTAKE_LISTEN", group: "lead_service" },
  environment: process.env,
});
