/** Runs the operator's command: `node scripts/ctl.ts GROUP COMMAND …` or `npm run -s ctl -- GROUP COMMAND …`. */

import process from "node:process";
import { runCtl } from "../src/ctl/main.ts";
import { findDatabaseUrl } from "./running.ts";
import { developmentSettings } from "./development_settings.ts";

await runCtl(process.argv.slice(2), {
  environment: process.env,
  isColored: process.stdout.isTTY && !process.env.NO_COLOR,
  findDatabaseUrl,
  developmentSettings,
});
