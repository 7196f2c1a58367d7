/**
 * An attacker, a process of its own: attacks for so many seconds and tells what it sent. It sends to this machine's
 * loopback addresses only, over a bounded number of connections.
 *
 * @module
 */

import { answer, readTask } from "../load/client.ts";
import { type AttackTask, Traffic } from "./attack.ts";
import { byConnections } from "./by_connections.ts";
import { byRequests } from "./by_requests.ts";

const task = readTask<AttackTask>();
const traffic = new Traffic();
const untilMs = performance.now() + task.seconds * 1_000;
await { ...byConnections, ...byRequests }[task.name]?.run({ task, traffic, untilMs });
// The connections stay open until the kernel closes them with the process.
answer(traffic.counts());
