/**
 * An attacker, a process of its own: runs one of `attack_kinds.ts` for so many seconds and tells what it sent.
 * Started by `attacks.ts`; it speaks to this machine only.
 *
 * @module
 */

import { kinds } from "./attack_kinds.ts";
import type { AttackTask } from "./attack_task.ts";
import { Traffic } from "./attack_traffic.ts";

const task: AttackTask = JSON.parse(process.env.ATTACK ?? "");
const kind = kinds[task.name];
if (kind === undefined) throw new Error(`There is no attack ${task.name}`);
const traffic = new Traffic();
await kind.run(task, traffic, performance.now() + task.seconds * 1_000);
// The connections stay open until the kernel closes them with the process.
process.stdout.write(JSON.stringify(traffic.counts()));
process.exit(0);
