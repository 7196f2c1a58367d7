/**
 * `PUT /v1/events/{event_id}`: what the delivery loop asks for, and how it went. And `GET /healthz`.
 *
 * Source: DECISIONS, Delivery.
 *
 * @module
 */

import type { Log } from "../observe/log.ts";
import { namedKinds } from "../store/delivery/effects.ts";
import { describeError, Unavailable } from "../store/pool.ts";
import type { EffectReport, Performed } from "./effects.ts";
import { type DeliveredEvent, parseEvent } from "./event.ts";
import type { ActionsReply, ActionsRequest } from "./serve.ts";

/** What the handler needs. */
export interface HandleOptions {
  /** Throws when the database is away. */
  readonly perform: (event: DeliveredEvent) => Promise<Performed>;
  /** Rejects when the database is away. */
  readonly ping: () => Promise<void>;
  readonly log: Log;
  /** Never steps back; for durations. */
  readonly clockMs: () => number;
}

const eventPath = /^\/v1\/events\/([0-9a-z]{1,64})$/;

/** Answers to requests that are refused before anything is done. */
export function refuse(status: 400 | 404 | 413, detail: Readonly<Record<string, string>> = {}): ActionsReply {
  const error = { 400: "invalid_event", 404: "not_found", 413: "body_too_large" }[status];
  return { status, body: { error, ...detail } };
}

/** Makes the handler of all requests. */
export function actionsHandler(options: HandleOptions): (request: ActionsRequest) => Promise<ActionsReply> {
  return async (request) => {
    if (request.path === "/healthz") {
      return ["GET", "HEAD"].includes(request.method) ? await health(options) : methodNotAllowed("GET, HEAD");
    }
    const eventId = eventPath.exec(request.path)?.[1];
    if (eventId === undefined) return refuse(404);
    if (request.method !== "PUT") return methodNotAllowed("PUT");
    const event = readEvent(request, eventId);
    if ("wrong" in event) {
      options.log.error("event_refused", { event_id: eventId, wrong: event.wrong });
      return refuse(400, { wrong: event.wrong });
    }
    return await deliver(event, options);
  };
}

function methodNotAllowed(allow: string): ActionsReply {
  return { status: 405, body: { error: "method_not_allowed" }, headers: { Allow: allow } };
}

function readEvent(request: ActionsRequest, eventId: string): DeliveredEvent | { readonly wrong: string } {
  if (request.encoding !== null && request.encoding !== "identity") return { wrong: "content-encoding" };
  return request.body === null ? { wrong: "body" } : parseEvent(request.body, eventId);
}

async function health({ ping }: HandleOptions): Promise<ActionsReply> {
  try {
    await ping();
    return { status: 200, body: { ok: true } };
  } catch {
    return { status: 503, body: { ok: false } };
  }
}

async function deliver(event: DeliveredEvent, options: HandleOptions): Promise<ActionsReply> {
  const { log, clockMs } = options;
  const startedAtMs = clockMs();
  const said = { event_id: event.eventId, tenant: event.tenant };
  let performed: Performed;
  try {
    performed = await options.perform(event);
  } catch (error) {
    if (error instanceof Unavailable) {
      log.error("cannot_work", { ...said, cause: describeError(error) });
      return { status: 503, body: { error: "unavailable" } };
    }
    // A fault of ours at this event. 503 would stop all others with it. The stack names our code, the message
    // might quote a lead: only the first is logged.
    const stack = error instanceof Error ? (error.stack ?? "").replace(/^[^\n]*/, "") : "";
    log.error("fault", { ...said, name: error instanceof Error ? error.name : typeof error, stack });
    return { status: 500, body: { error: "fault" } };
  }
  const durationMs = Math.round(clockMs() - startedAtMs);
  if (performed.kind === "settled") {
    const reply = effectsReply(event.eventId, performed.effects);
    log.info("delivery", {
      ...said,
      kind: event.kind,
      attempt: event.attempt,
      status: reply.status,
      ...effectWords(performed.effects),
      duration_ms: durationMs,
    });
    return reply;
  }
  if (performed.kind === "sandbox") {
    log.info("sandbox", said);
    return { status: 200, body: { event_id: event.eventId, sandbox: true, effects: effectWords(new Map()) } };
  }
  log.error(performed.kind, said);
  return performed.kind === "no_route"
    ? { status: 409, body: { error: "no_route" } }
    : refuse(400, { wrong: "tenant" });
}

function effectsReply(eventId: string, reports: ReadonlyMap<string, EffectReport>): ActionsReply {
  const effects = effectWords(reports);
  const failures = [...reports.values()].filter((report) => report !== "done");
  if (failures.length === 0) return { status: 200, body: { event_id: eventId, effects } };
  // The longest of them: an earlier attempt would fail on that effect again.
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return {
    status: 424,
    body: { error: "effects_failed", effects },
    ...(waits.length === 0 ? {} : { headers: { "Retry-After": String(Math.max(...waits)) } }),
  };
}

/** Each effect in a word or two, by kind; beside the tenant's own the two that are always named. */
function effectWords(reports: ReadonlyMap<string, EffectReport>): Readonly<Record<string, string>> {
  const word = (report: EffectReport) => report === "done" ? report : `failed: ${report.reason}`;
  return Object.fromEntries([
    ...namedKinds.map((kind) => [kind, "none"]),
    ...[...reports].map(([kind, report]) => [kind, word(report)]),
  ]);
}
