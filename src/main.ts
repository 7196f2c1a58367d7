/**
 * The service process; with `INTAKE_PROCESSES` the parent of several, and each of these.
 *
 * @module
 */

import process from "node:process";
import { readConfig } from "./settings/config.ts";
import { takeCredentials } from "./settings/credentials.ts";
import { inheritedSockets } from "./settings/inherited.ts";
import { readSeat } from "./settings/seat.ts";
import { Channel } from "./service/channel.ts";
import { startParent } from "./service/parent.ts";
import { run } from "./service/run.ts";
import { startService } from "./service/start.ts";

const seat = readSeat(process.argv.slice(2));
const channel = seat === null ? null : new Channel(seat);
const environment = process.env;

await run({
  start: (log, notify) => {
    takeCredentials(environment);
    const sockets = inheritedSockets(environment, seat === null ? process.pid : process.ppid);
    const config = readConfig(environment, sockets, seat);
    const isParent = seat === null && config.processes > 1;
    return isParent ? startParent(config, { log, environment, notify }) : startService(config, log, channel);
  },
  settings: { database: "DATABASE_URL", listen: "INTAKE_LISTEN", group: "lead_service" },
  environment,
  parent: channel,
});
