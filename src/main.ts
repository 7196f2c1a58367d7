/** Runs the service process. */

import process from "node:process";
import { run } from "./process/run.ts";
import { readConfig } from "./settings/config.ts";
import { addCredentialFiles } from "./settings/credentials.ts";
import { inheritedSockets } from "./settings/inherited.ts";
import { startService } from "./service/start.ts";

await run({
  start: (log) => {
    addCredentialFiles(process.env);
    return startService(readConfig(process.env, inheritedSockets(process.env, process.pid)), log);
  },
  settings: { database: "DATABASE_URL", listen: "INTAKE_LISTEN", group: "lead_service" },
  environment: process.env,
});
