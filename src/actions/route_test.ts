/**
 * Tests a tenant's routes: sends a made-up, marked event to each recipient and returns the responses. Stores nothing.
 *
 * Source: DECISIONS, Decided since (Webhook test).
 */

import { randomBytes } from "node:crypto";
import type { Route, RouteScope, TenantNames, TenantRoutes } from "../store/delivery/effects.ts";
import type { Destination } from "./destination.ts";
import type { DeliveredEvent } from "./event.ts";
import { failed } from "./outcome.ts";

/** The routes to test: a source's, a form's or, with neither, the tenant's own. */
export interface TestRequest extends RouteScope {
  readonly tenant: string;
}

export interface RouteTestParts {
  readonly routesOf: (slug: string, scope: RouteScope) => Promise<TenantRoutes>;
  readonly destinations: readonly Destination[];
  /** The wall-clock time, for messages. */
  readonly nowMs: () => number;
  /** The monotonic time, for durations. */
  readonly monotonicMs: () => number;
}

/** The result for one recipient. */
export interface RecipientResult {
  readonly effect: string;
  /** The webhook's host or the email address; never a path, token or secret. */
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  /** The start of the response, on one line. */
  readonly answer: string | null;
  readonly durationMs: number;
}

export type RouteTestResult =
  | { readonly kind: Exclude<TenantRoutes["kind"], "routes"> }
  | { readonly kind: "tested"; readonly eventId: string; readonly results: readonly RecipientResult[] };

/** Sends a test event to all recipients concurrently. Rejects if the database is unavailable. */
export async function testRoutes(request: TestRequest, parts: RouteTestParts): Promise<RouteTestResult> {
  const routes = await parts.routesOf(request.tenant, request);
  if (routes.kind !== "routes") return routes;
  const event = createTestEvent(request, parts.nowMs());
  const results = routes.routes.map((route) => sendTest(event, { route, tenant: routes.tenant, parts }));
  return { kind: "tested", eventId: event.eventId, results: await Promise.all(results) };
}

async function sendTest(
  event: DeliveredEvent,
  { route, tenant, parts }: {
    readonly route: Route;
    readonly tenant: TenantNames;
    readonly parts: RouteTestParts;
  },
): Promise<RecipientResult> {
  const { destinations, nowMs, monotonicMs } = parts;
  const startedAtMs = monotonicMs();
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
    durationMs: Math.round(monotonicMs() - startedAtMs),
  };
}

const testNote = "This is a test of the route by the operator. No reply is needed.";

/** Creates an event with an undeliverable email address and, for a lead, a fictional phone number. */
function createTestEvent({ tenant, source, form }: TestRequest, nowMs: number): DeliveredEvent {
  const common = {
    // The prefix distinguishes this id from those of real events, which start with hexadecimal digits.
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
      content: JSON.stringify({ name: "Test Lead", email, message: testNote }),
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
      project_details: testNote,
    }),
    extra: "{}",
  };
}
