/**
 * `PUT /v1/events/{event_id}` for the delivery loop, `POST /v1/tests` for route tests, and `GET /healthz`.
 *
 * Source: DECISIONS, Delivery.
 */

import type { Body, Exchange, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { parseObject } from "../lead/json.ts";
import type { Log } from "../observe/log.ts";
import { namedKinds } from "../store/delivery/effects.ts";
import { describeError, Unavailable } from "../store/pool.ts";
import type { EffectReport, Performed } from "./effects.ts";
import { type DeliveredEvent, parseEvent } from "./event.ts";
import { notBegun } from "./outcome.ts";
import type { Tested, TestRequest } from "./route_test.ts";

/** The handler's dependencies. */
export interface HandleOptions {
  /** Throws if the database is unavailable. */
  readonly perform: (event: DeliveredEvent) => Promise<Performed>;
  /** Throws if the database is unavailable. */
  readonly test: (request: TestRequest) => Promise<Tested>;
  /** Rejects if the database is unavailable. */
  readonly ping: () => Promise<void>;
  readonly log: Log;
  /** Monotonic, for durations. */
  readonly clockMs: () => number;
}

// A posted body has up to 64 KiB; escapes enlarge lead and extra.
const bodyBytesMax = 512 * 1024;

/** The error if no failed effect was started; the service then spends no attempt. */
const effectsNotBegun = "effects_not_begun";

/** Idle timeout of the service's few connections. */
export const idleTimeoutMs = 120_000;

/** A JSON reply that announces the idle timeout. */
export function reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return json(status, body, { "Keep-Alive": `timeout=${idleTimeoutMs / 1000}`, ...headers });
}

const eventId = /^[0-9a-z]{1,64}$/;
const notFound = () => reply(404, { error: "not_found" });

/** The routes. */
export function actionsRouter(options: HandleOptions): Router {
  return new Router({ notFound, methodNotAllowed: () => reply(405, { error: "method_not_allowed" }) })
    .get("/healthz", () => health(options))
    .method("POST", "/v1/tests", (exchange) => test(exchange, options))
    .method("PUT", "/v1/events/{event_id}", async (exchange) => {
      const id = exchange.params["event_id"] as string;
      if (!eventId.test(id)) return notFound();
      const body = await exchange.readBody(bodyBytesMax);
      if (body.kind === "too_large") return reply(413, { error: "body_too_large" });
      const event = readEvent(exchange, { id, body });
      if (!("wrong" in event)) return await deliver(event, options);
      options.log.error("event_refused", { event_id: id, wrong: event.wrong });
      return invalid(event.wrong);
    });
}

function invalid(wrong: string): Reply {
  return reply(400, { error: "invalid_event", wrong });
}

function readEvent(
  exchange: Exchange,
  { id, body }: { id: string; body: Exclude<Body, { kind: "too_large" }> },
): DeliveredEvent | { readonly wrong: string } {
  if ((exchange.header("content-encoding") ?? "identity") !== "identity") {
    return { wrong: "content-encoding" };
  }
  const text = body.kind === "complete" ? decode(body.bytes) : null;
  return text === null ? { wrong: "body" } : parseEvent(text, id);
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Body `{"tenant","source","form"}`; the latter two are empty for the tenant's own routes. */
async function test(exchange: Exchange, { test, log }: HandleOptions): Promise<Reply> {
  const body = await exchange.readBody(bodyBytesMax);
  if (body.kind === "too_large") return reply(413, { error: "body_too_large" });
  const text = body.kind === "complete" ? decode(body.bytes) : null;
  const asked = text === null ? null : parseObject(text, 2);
  const { tenant, source, form } = asked ?? {};
  if (typeof tenant !== "string" || typeof source !== "string" || typeof form !== "string") {
    return reply(400, { error: "invalid_test" });
  }
  try {
    const tested = await test({ tenant, source, form });
    if (tested.kind === "unknown_tenant") return reply(400, { error: "unknown_tenant" });
    if (tested.kind !== "tested") return reply(409, { error: tested.kind });
    const { eventId, results } = tested;
    const failures = results.filter(({ outcome }) => outcome === "failed").length;
    log.info("route_test", { tenant, event_id: eventId, sent: results.length, failed: failures });
    return reply(200, {
      event_id: eventId,
      results: results.map(({ durationMs, ...result }) => ({ ...result, duration_ms: durationMs })),
    });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return reply(503, { error: "unavailable" });
  }
}

async function health({ ping }: HandleOptions): Promise<Reply> {
  try {
    await ping();
    return reply(200, { ok: true });
  } catch {
    return reply(503, { ok: false });
  }
}

async function deliver(event: DeliveredEvent, options: HandleOptions): Promise<Reply> {
  const { log, clockMs } = options;
  const startedAtMs = clockMs();
  const said = { event_id: event.eventId, tenant: event.tenant };
  let performed: Performed;
  try {
    performed = await options.perform(event);
  } catch (error) {
    if (error instanceof Unavailable) {
      log.error("cannot_work", { ...said, cause: describeError(error) });
      return reply(503, { error: "unavailable" });
    }
    // Our bug with this event; a 503 would stop all others. Log only the stack, because the message may quote a lead.
    const stack = error instanceof Error ? (error.stack ?? "").replace(/^[^\n]*/, "") : "";
    log.error("fault", { ...said, name: error instanceof Error ? error.name : typeof error, stack });
    return reply(500, { error: "fault" });
  }
  const durationMs = Math.round(clockMs() - startedAtMs);
  if (performed.kind === "settled") {
    const answer = effectsReply(event.eventId, performed.effects);
    log.info("delivery", {
      ...said,
      kind: event.kind,
      attempt: event.attempt,
      status: answer.status,
      ...effectWords(performed.effects),
      duration_ms: durationMs,
    });
    return answer;
  }
  if (performed.kind === "sandbox") {
    log.info("sandbox", said);
    return reply(200, { event_id: event.eventId, sandbox: true, effects: effectWords(new Map()) });
  }
  log.error(performed.kind, said);
  return performed.kind === "no_route" ? reply(409, { error: "no_route" }) : invalid("tenant");
}

function effectsReply(eventId: string, reports: ReadonlyMap<string, EffectReport>): Reply {
  const effects = effectWords(reports);
  const failures = [...reports.values()].filter((report) => report !== "done");
  if (failures.length === 0) return reply(200, { event_id: eventId, effects });
  // The longest one, because an earlier attempt would fail again.
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  const later = waits.length === 0 ? {} : { "Retry-After": String(Math.max(...waits)) };
  // They were never started, so it is not an attempt.
  const isBegun = failures.some(({ reason }) => !reason.startsWith(notBegun));
  return reply(424, { error: isBegun ? "effects_failed" : effectsNotBegun, effects }, later);
}

/** Each effect's state by kind; crm and email are always named. */
function effectWords(reports: ReadonlyMap<string, EffectReport>): Readonly<Record<string, string>> {
  const word = (report: EffectReport) => report === "done" ? report : `failed: ${report.reason}`;
  return Object.fromEntries([
    ...namedKinds.map((kind) => [kind, "none"]),
    ...[...reports].map(([kind, report]) => [kind, word(report)]),
  ]);
}
