/**
 * The test of a tenant's routes: an invented event, marked as one, goes where a real one would, and what came back is
 * told. Nothing is stored, neither as an event nor as an effect.
 *
 * Source: DECISIONS, Decided since (Webhook test).
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { Route, RouteScope, TenantNames, TenantRoutes } from "../store/delivery/effects.ts";
import type { Destination } from "./destination.ts";
import type { DeliveredEvent } from "./event.ts";
import { failed } from "./outcome.ts";

/** What is to be tried: the routes of a source, of a form, or with neither those that no closer route takes. */
export interface TestRequest extends RouteScope {
  readonly tenant: string;
}

/** What the test needs. */
export interface RouteTestParts {
  readonly routesOf: (slug: string, scope: RouteScope) => Promise<TenantRoutes>;
  readonly destinations: readonly Destination[];
  /** The wall clock, for what leaves the house. */
  readonly nowMs: () => number;
  /** Never steps back; for durations. */
  readonly clockMs: () => number;
}

/** What came of one recipient. */
export interface TestResult {
  readonly effect: string;
  /** The host of a webhook or the address of a mail: never a path, a token or a secret. */
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  /** The beginning of its answer, one line. */
  readonly answer: string | null;
  readonly durationMs: number;
}

/** What came of a test. */
export type Tested =
  | { readonly kind: Exclude<TenantRoutes["kind"], "routes"> }
  | { readonly kind: "tested"; readonly eventId: string; readonly results: readonly TestResult[] };

/** Sends a test to every recipient at once, each within the bound of an effect. Throws when the database is away. */
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

/** Nobody's: the number is one that is kept for fiction, the address one that reaches nobody. */
function inventedEvent({ tenant, source, form }: TestRequest, nowMs: number): DeliveredEvent {
  const common = {
    // Like no event's id, which begins with digits of the time.
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
