/**
 * The actions process.
 *
 * @module
 */

import process from "node:process";
import { run } from "../service/run.ts";
import { readActionsConfig } from "./config.ts";
import { startActions } from "./service.ts";

await run({
  start: (log) => startActions(readActionsConfig(process.env), log),
  settings: { database: "ACTIONS_DATABASE_URL", listen: "ACTIONS_LISTEN", group: "lead_actions" },
  environment: process.env,
});
