/**
 * What the listeners log: a line for each request, and what went wrong beside the requests.
 *
 * @module
 */

import type { Exchange } from "../http/exchange.ts";
import type { Access, HttpObservation } from "../http/options.ts";
import { type Log, stackFrames } from "./log.ts";
import { describeError } from "../store/pool.ts";

/** Writes the line of what a listener tells. */
export function logHttp(log: Log, observation: HttpObservation): void {
  switch (observation.kind) {
    case "request":
      return logAccess(log, observation);
    case "fault":
      return logFault(log, observation.error, observation.exchange);
    case "certificate_renewed":
      return log.info(observation.kind);
    case "certificate_refused":
      return log.error(observation.kind, { cause: describeError(observation.error) });
  }
}

/** The access line. Source: DECISIONS, Operating it (logs). */
function logAccess(log: Log, access: Access): void {
  log.info("request", {
    request_id: access.requestId,
    surface: access.surface,
    method: access.method,
    route: access.route,
    status: access.status,
    duration_ms: Math.round(access.durationMs * 100) / 100,
    bytes: access.bytes,
    client: access.clientAddress,
    key_id: access.keyId,
    ...(access.aborted ? { aborted: true } : {}),
  });
}

/** What a handler threw, without its message, which might quote a lead. */
function logFault(log: Log, error: unknown, exchange: Exchange | null): void {
  log.error("fault", {
    request_id: exchange?.requestId ?? null,
    route: exchange?.route ?? null,
    name: error instanceof Error ? error.name : typeof error,
    cause: describeError(error),
    stack: stackFrames(error),
  });
}
