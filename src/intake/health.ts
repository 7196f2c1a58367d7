/**
 * `GET /healthz` of the intake.
 *
 * @module
 */

import type { Handler } from "../http/exchange.ts";
import { json, publicRead } from "../http/reply.ts";

/** What the answer is made of. */
export interface Health {
  readonly writable: boolean;
  readonly pending: number;
  readonly dead: number;
}

/**
 * The handler: 200 when the service takes leads, 503 when the store is not writable or the process is
 * stopping.
 *
 * Source: SPEC, Intake health; DECISIONS, The intake endpoint.
 */
export function healthHandler(health: () => Health, isDraining: () => boolean): Handler {
  return () => {
    const { writable, pending, dead } = health();
    const ok = writable && !isDraining();
    return json(ok ? 200 : 503, { ok, pending, dead, store_writable: writable }, publicRead);
  };
}
