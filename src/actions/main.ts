/** Starts the actions process. */

import process from "node:process";
import { run } from "../process/run.ts";
import { addCredentialFiles } from "../settings/credentials.ts";
import { inheritedSockets } from "../settings/inherited.ts";
import { readActionsConfig } from "./config.ts";
import { startActions } from "./service.ts";

await run({
  start: (log) => {
    addCredentialFiles(process.env);
    return startActions(readActionsConfig(process.env, inheritedSockets(process.env, process.pid)), log);
  },
  settings: { database: "ACTIONS_DATABASE_URL", listen: "ACTIONS_LISTEN", group: "lead_actions" },
  environment: process.env,
});
