/**
 * Leads posted at a fixed pace, and what became of them.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./children.ts";
import { buildFolder } from "./targets.ts";
import type { Load } from "./wrk.ts";

/** What the client's process is told. */
export interface PacerTask extends Load {
  readonly url: string;
  readonly perSecond: number;
  readonly seconds: number;
  /** Of the Idempotency-Keys; no other run has it. */
  readonly prefix: string;
  readonly outFile: string;
}

/** A lead that was answered with 202; times in nanoseconds of the machine's monotonic clock. */
export interface Acknowledged {
  readonly id: string;
  /** When it should have been sent. */
  readonly dueNs: number;
  readonly sentNs: number;
  readonly ackNs: number;
}

/** What a run of the client found. */
export interface Paced {
  readonly startNs: number;
  /** Connections in use at the end. */
  readonly connections: number;
  /** In the order of their answers. */
  readonly leads: readonly Acknowledged[];
}

const script = fileURLToPath(new URL("pacer_main.ts", import.meta.url));

/**
 * Posts `perSecond` leads a second for so many seconds and waits for the answers.
 *
 * @throws {Error} when an answer was not 202 or did not come
 */
export async function pace(
  url: string,
  { load, perSecond, seconds }: {
    load: Load;
    perSecond: number;
    seconds: number;
  },
): Promise<Paced> {
  const outFile = join(buildFolder, "acknowledged.txt");
  const prefix = randomBytes(5).toString("hex");
  const task: PacerTask = { ...load, url, perSecond, seconds, prefix, outFile };
  const { stdout } = await run(process.execPath, [script], {
    timeoutMs: (seconds + 30) * 1_000,
    env: { PACER: JSON.stringify(task) },
  });
  const { startNs, connections } = JSON.parse(stdout);
  const leads = readFileSync(outFile, "utf8").split("\n").map(
    (line): Acknowledged => {
      const [id = "", dueNs, sentNs, ackNs] = line.split(" ");
      return { id, dueNs: Number(dueNs), sentNs: Number(sentNs), ackNs: Number(ackNs) };
    },
  );
  return { startNs, connections, leads };
}
