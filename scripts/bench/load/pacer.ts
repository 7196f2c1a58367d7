/**
 * Leads posted at a fixed pace, and what became of them.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { runClient } from "../programs.ts";
import type { Load } from "./wrk.ts";

/** What the client's process is told. */
export interface PacerTask extends Load {
  readonly url: string;
  readonly perSecond: number;
  readonly seconds: number;
  /** Of the Idempotency-Keys; no other run has it. */
  readonly prefix: string;
  /** 429 and 503 are counted; otherwise they end the run as any other answer than 202 does. */
  readonly mayRefuse?: boolean;
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
  /** Of the last answer. */
  readonly endNs: number;
  /** In the order of their answers. */
  readonly leads: readonly Acknowledged[];
  /** Posts that were answered with 429 or 503. */
  readonly refused: number;
}

/** How leads are posted. */
interface PaceOptions extends Pick<PacerTask, "perSecond" | "seconds" | "mayRefuse"> {
  readonly load: Load;
}

/**
 * Posts `perSecond` leads a second for so many seconds and waits for the answers.
 *
 * @throws {Error} when an answer was not 202 or did not come
 */
export function pace(
  url: string,
  { load, perSecond, seconds, mayRefuse = false }: PaceOptions,
): Promise<Paced> {
  const task: PacerTask = {
    ...load,
    url,
    perSecond,
    seconds,
    prefix: randomBytes(5).toString("hex"),
    mayRefuse,
  };
  return runClient("load/pacer_main.ts", task, seconds);
}
