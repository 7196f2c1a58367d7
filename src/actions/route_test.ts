/**
 * Tests a tenant's routes: sends an invented event, marked as one, where a real one would go, and returns the responses.
 * Stores nothing.
 *
 * Source: DECISIONS, Decided since (Webhook test).
 */

import { randomBytes } from "node:crypto";
import type { Route, RouteScope, TenantNames, TenantRoutes } from "../store/delivery/effects.ts";
import type { Destination } from "./destination.ts";
import type { DeliveredEvent } from "./event.ts";
import { failed } from "./outcome.ts";

/** The routes to test: a source's, a form's, or with neither the tenant's own. */
export interface TestRequest extends RouteScope {
  readonly tenant: string;
}

/** The test's dependencies. */
export interface RouteTestParts {
  readonly routesOf: (slug: string, scope: RouteScope) => Promise<TenantRoutes>;
  readonly destinations: readonly Destination[];
  /** Wall-clock time for messages. */
  readonly nowMs: () => number;
  /** Monotonic, for durations. */
  readonly clockMs: () => number;
}

/** A recipient's result. */
export interface TestResult {
  readonly effect: string;
  /** The webhook's host or the mail address; never a path, token or secret. */
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  /** The beginning of the response, one line. */
  readonly answer: string | null;
  readonly durationMs: number;
}

/** A test's result. */
export type Tested =
  | { readonly kind: Exclude<TenantRoutes["kind"], "routes"> }
  | { readonly kind: "tested"; readonly eventId: string; readonly results: readonly TestResult[] };

/** Sends a test to every recipient concurrently, within an effect's time limit. Throws if the database is unavailable. */
export async function testRoutes(request: TestRequest, parts: RouteTestParts): Promise<Tested> {
  const found = await parts.routesOf(request.tenant, request);
  if (found.kind !== "routes") return found;
  const event = inventedEvent(request, parts.nowMs());
  const results = found.routes.map((route) => sendTest(event, { route, tenant: found.tenant, parts }));
  return { kind: "tested", eventId: event.eventId, results: await Promise.all(results) };
}

async function sendTest(
  event: DeliveredEvent,
  { route, tenant, parts }: {
    readonly route: Route;
    readonly tenant: TenantNames;
    readonly parts: RouteTestParts;
  },
): Promise<TestResult> {
  const { destinations, nowMs, clockMs } = parts;
  const startedAtMs = clockMs();
  const destination = destinations.find(({ kind }) => kind === route.kind);
  const outcome = await destination?.send({
    event,
    route,
    tenant,
    nowMs: nowMs(),
    repeat: 0,
    isTest: true,
  }) ?? failed("unknown_destination");
  const { status = null, answer = null } = outcome;
  return {
    effect: route.kind,
    target: route.address.startsWith("https:") ? new URL(route.address).host : route.address,
    outcome: outcome.kind,
    reason: outcome.kind === "failed" ? outcome.reason : null,
    status,
    answer,
    durationMs: Math.round(clockMs() - startedAtMs),
  };
}

const note = "This is a test of the route, sent by the operator. Nobody asks for anything.";

/** An invented lead: a fictional number and an undeliverable address. */
function inventedEvent({ tenant, source, form }: TestRequest, nowMs: number): DeliveredEvent {
  const common = {
    // Unlike an event's id, which begins with digits of the time.
    eventId: `test${randomBytes(17).toString("hex")}`,
    tenant,
    source: source === "" ? "route-test" : source,
    form,
    receivedAt: new Date(nowMs).toISOString(),
    attempt: 1,
    flags: [],
  };
  const email = "test@example.com";
  if (form !== "") {
    return {
      ...common,
      kind: "form",
      content: JSON.stringify({ name: "Test Lead", email, message: note }),
      extra: JSON.stringify({ form_key: form, attribution: {} }),
    };
  }
  return {
    ...common,
    kind: "lead",
    content: JSON.stringify({
      first_name: "Test",
      last_name: "Lead",
      phone: "+15035550100",
      email,
      city: "Portland",
      state: "OR",
      zip: "97201",
      country: "US",
      project_area: "kitchen",
      project_service: "remodel",
      project_details: note,
    }),
    extra: "{}",
  };
}
