/**
 * What a server of Node allocates while it is loaded.
 *
 * @module
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { buildFolder } from "../programs.ts";
import { type Allocated, heapFile } from "./heap_probe.ts";

/** How a server is started whose allocations can be counted; it costs nothing until they are. */
export const heapProbe = {
  nodeFlags: [`--import=${new URL("heap_probe.ts", import.meta.url)}`],
  env: { HEAP_PROBE_FOLDER: buildFolder },
} as const;

const answerMaxMs = 10_000;

/** Counts what the process allocates during the work; `null` when it was started without the probe. */
export async function allocatedIn<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ found: T; allocated: Allocated } | null> {
  const file = heapFile(buildFolder, pid);
  if (!existsSync(file)) return null;
  const ask = async (): Promise<string> => {
    writeFileSync(file, "");
    process.kill(pid, "SIGUSR2");
    const deadlineMs = performance.now() + answerMaxMs;
    while (performance.now() < deadlineMs) {
      const text = readFileSync(file, "utf8");
      if (text !== "") return text;
      await delay(5);
    }
    throw new Error(`Process ${pid} does not tell what it has allocated`);
  };
  await ask();
  const found = await work();
  return { found, allocated: JSON.parse(await ask()) };
}
