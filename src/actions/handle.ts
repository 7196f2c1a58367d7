/**
 * Handles `PUT /v1/events/{event_id}` for the delivery loop, `POST /v1/tests` for route tests, and `GET /healthz`.
 *
 * Source: DECISIONS, Delivery.
 */

import type { Body, Exchange, Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { parseObject } from "../lead/json.ts";
import { type Log, stackFrames } from "../observe/log.ts";
import { namedKinds, pausedReason } from "../store/delivery/effects.ts";
import { describeError, Unavailable } from "../store/pool.ts";
import type { EffectReport, PerformResult } from "./effects.ts";
import { type DeliveredEvent, parseEvent } from "./event.ts";
import { type Failed, queueTimeout } from "./outcome.ts";
import type { RouteTestResult, TestRequest } from "./route_test.ts";

export interface HandleOptions {
  /** Rejects if the database is unavailable. */
  readonly perform: (event: DeliveredEvent) => Promise<PerformResult>;
  /** Rejects if the database is unavailable. */
  readonly test: (request: TestRequest) => Promise<RouteTestResult>;
  /** Rejects if the database is unavailable. */
  readonly ping: () => Promise<void>;
  readonly log: Log;
  /** The monotonic time, for durations. */
  readonly monotonicMs: () => number;
}

// A post has up to 64 KiB, and JSON escapes enlarge the lead and `extra`.
const bodyBytesMax = 512 * 1024;

export const idleTimeoutMs = 120_000;

/** Returns a JSON reply that announces the idle timeout. */
export function jsonReply(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return json(status, body, { "Keep-Alive": `timeout=${idleTimeoutMs / 1000}`, ...headers });
}

const eventIdPattern = /^[0-9a-z]{1,64}$/;
const notFound = () => jsonReply(404, { error: "not_found" });

export function actionsRouter(options: HandleOptions): Router {
  return new Router({ notFound, methodNotAllowed: () => jsonReply(405, { error: "method_not_allowed" }) })
    .get("/healthz", () => handleHealth(options))
    .method("POST", "/v1/tests", (exchange) => handleTest(exchange, options))
    .method("PUT", "/v1/events/{event_id}", async (exchange) => {
      const id = exchange.params["event_id"] as string;
      if (!eventIdPattern.test(id)) return notFound();
      const body = await exchange.readBody(bodyBytesMax);
      if (body.kind === "too_large") return jsonReply(413, { error: "body_too_large" });
      const event = readEvent(exchange, { id, body });
      if (!("invalidMember" in event)) return await handleEvent(event, options);
      options.log.error("event_refused", { event_id: id, wrong: event.invalidMember });
      return invalidEvent(event.invalidMember);
    });
}

function invalidEvent(invalidMember: string): Reply {
  return jsonReply(400, { error: "invalid_event", wrong: invalidMember });
}

function readEvent(
  exchange: Exchange,
  { id, body }: { id: string; body: Exclude<Body, { kind: "too_large" }> },
): DeliveredEvent | { readonly invalidMember: string } {
  if ((exchange.header("content-encoding") ?? "identity") !== "identity") {
    return { invalidMember: "content-encoding" };
  }
  const text = body.kind === "complete" ? decode(body.bytes) : null;
  return text === null ? { invalidMember: "body" } : parseEvent(text, id);
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Handles a route test. In its body, `{"tenant","source","form"}`, `source` and `form` are empty for the tenant's own routes. With
 * `dry_run`, returns the requests without sending any; `event` is then the text of an event as the service delivers it, or null.
 */
async function handleTest(exchange: Exchange, { test, log }: HandleOptions): Promise<Reply> {
  const body = await exchange.readBody(bodyBytesMax);
  if (body.kind === "too_large") return jsonReply(413, { error: "body_too_large" });
  const text = body.kind === "complete" ? decode(body.bytes) : null;
  const parsed = (text === null ? null : parseObject(text, 2)) ?? {};
  const { tenant, source, form, dry_run: dryRun = false, event_id: eventId = "", event: eventText = null } =
    parsed;
  if (
    typeof tenant !== "string" || typeof source !== "string" || typeof form !== "string" ||
    typeof dryRun !== "boolean" || typeof eventId !== "string" ||
    eventText !== null && typeof eventText !== "string"
  ) {
    return jsonReply(400, { error: "invalid_test" });
  }
  const event = eventText === null ? null : parseEvent(eventText, eventId);
  if (event !== null && "invalidMember" in event) return invalidEvent(event.invalidMember);
  try {
    const tested = await test({ tenant, source, form, isDryRun: dryRun, event: dryRun ? event : null });
    if (tested.kind === "unknown_tenant") return jsonReply(400, { error: "unknown_tenant" });
    if (tested.kind === "previewed") {
      const requests = tested.requests.map(({ madeUp, ...request }) => ({ ...request, made_up: madeUp }));
      return jsonReply(200, { requests, faults: tested.faults });
    }
    if (tested.kind !== "tested") return jsonReply(409, { error: tested.kind });
    const { eventId, results } = tested;
    const failures = results.filter(({ outcome }) => outcome === "failed").length;
    log.info("route_test", { tenant, event_id: eventId, sent: results.length, failed: failures });
    return jsonReply(200, {
      event_id: eventId,
      results: results.map(({ durationMs, steps, ...result }) => ({
        ...result,
        duration_ms: durationMs,
        ...(steps.length === 0 ? {} : { steps }),
      })),
    });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return jsonReply(503, { error: "unavailable" });
  }
}

async function handleHealth({ ping }: HandleOptions): Promise<Reply> {
  try {
    await ping();
    return jsonReply(200, { ok: true });
  } catch {
    return jsonReply(503, { ok: false });
  }
}

async function handleEvent(event: DeliveredEvent, options: HandleOptions): Promise<Reply> {
  const { log, monotonicMs } = options;
  const startedAtMs = monotonicMs();
  const fields = { event_id: event.eventId, tenant: event.tenant };
  let result: PerformResult;
  try {
    result = await options.perform(event);
  } catch (error) {
    if (error instanceof Unavailable) {
      log.error("cannot_work", { ...fields, cause: describeError(error) });
      return jsonReply(503, { error: "unavailable" });
    }
    // This event triggers a bug; a 503 would stop all other deliveries.
    const name = error instanceof Error ? error.name : typeof error;
    log.error("fault", { ...fields, name, stack: stackFrames(error) });
    return jsonReply(500, { error: "fault" });
  }
  const durationMs = Math.round(monotonicMs() - startedAtMs);
  if (result.kind === "settled") {
    const reply = effectsReply(event.eventId, result.effects);
    log.info("delivery", {
      ...fields,
      kind: event.kind,
      attempt: event.attempt,
      status: reply.status,
      ...effectStates(result.effects),
      duration_ms: durationMs,
    });
    return reply;
  }
  if (result.kind === "sandbox") {
    log.info("sandbox", fields);
    return jsonReply(200, { event_id: event.eventId, sandbox: true, effects: effectStates(new Map()) });
  }
  log.error(result.kind, fields);
  return result.kind === "no_route" ? jsonReply(409, { error: "no_route" }) : invalidEvent("tenant");
}

function effectsReply(eventId: string, reports: ReadonlyMap<string, EffectReport>): Reply {
  const effects = effectStates(reports);
  const failures = [...reports.values()].filter((report) => report !== "done");
  if (failures.length === 0) return jsonReply(200, { event_id: eventId, effects });
  // Requests the longest wait, because an earlier attempt would fail again. No effect waits for a refused or a paused one,
  // and emails and Slack messages do not wait for the CRM.
  const [others = failures] = [
    retried(reports, ([kind, report]) => kind !== "crm" && report.reason !== pausedReason),
    retried(reports, ([, report]) => report.reason !== pausedReason),
    retried(reports),
  ].filter((found) => found.length > 0);
  const waits = others.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  const retryHeaders = waits.length === 0 ? {} : { "Retry-After": String(Math.max(...waits)) };
  return jsonReply(424, { ...undeliveredCode(failures), effects }, retryHeaders);
}

/** Returns the reports of the effects that are to be repeated and match a condition. */
function retried(
  reports: ReadonlyMap<string, EffectReport>,
  matches: (entry: readonly [kind: string, report: Failed]) => boolean = () => true,
): Failed[] {
  return [...reports].flatMap(([kind, report]) =>
    report !== "done" && report.kind !== "refused" && matches([kind, report]) ? [report] : []
  );
}

/** Returns what the delivery loop should do: repeat the event, repeat it without counting the attempt, or give up. */
function undeliveredCode(failures: readonly Failed[]): { readonly error: string; readonly reason?: string } {
  const failedOnes = failures.filter(({ kind }) => kind === "failed");
  if (failedOnes.length > 0) {
    const isStarted = failedOnes.some(({ reason }) => !reason.startsWith(queueTimeout));
    return { error: isStarted ? "effects_failed" : "effects_not_begun" };
  }
  const waits = failures.filter(({ kind }) => kind === "waiting");
  // A pause is the operator's decision; any other reason needs attention.
  const waiting = waits.find(({ reason }) => reason !== pausedReason) ?? waits[0];
  return waiting === undefined
    ? { error: "effects_refused" }
    : { error: "effects_waiting", reason: waiting.reason };
}

/** Returns the state of each kind of effect; crm and email are always included. */
function effectStates(reports: ReadonlyMap<string, EffectReport>): Readonly<Record<string, string>> {
  const stateOf = (report: EffectReport) =>
    report === "done" ? report : `${report.kind === "waiting" ? "waiting" : "failed"}: ${report.reason}`;
  return Object.fromEntries([
    ...namedKinds.map((kind) => [kind, "none"]),
    ...[...reports].map(([kind, report]) => [kind, stateOf(report)]),
  ]);
}
