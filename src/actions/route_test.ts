/**
 * Tests a tenant's routes: sends a made-up, marked event to each recipient and returns the responses, or returns the requests
 * without sending any. Stores nothing.
 *
 * Source: DECISIONS, Decided since (Webhook test), and CRM (Commands).
 */

import { type EarlierPosts, noEarlierPosts } from "../store/delivery/earlier_posts.ts";
import type { Route, RouteScope, TenantNames, TenantRoutes } from "../store/delivery/effects.ts";
import type { Destination, PreviewedRequest, SendRequest, StepReport } from "./destination.ts";
import type { DeliveredEvent } from "./event.ts";
import { failed } from "./outcome.ts";
import { sampleEvent } from "./sample.ts";

/** The routes to test: a source's, a form's or, with neither, the tenant's own. */
export interface TestRequest extends RouteScope {
  readonly tenant: string;
  /** Whether to return the requests instead of sending them. */
  readonly isDryRun: boolean;
  /** The event of a dry run; `null` for a made-up one. */
  readonly event: DeliveredEvent | null;
}

export interface RouteTestParts {
  readonly routesOf: (slug: string, scope: RouteScope) => Promise<TenantRoutes>;
  /** As for the effect runner. */
  readonly earlierPosts: (eventId: string) => Promise<EarlierPosts>;
  readonly destinations: readonly Destination[];
  /** The wall-clock time, for messages. */
  readonly nowMs: () => number;
  /** The monotonic time, for durations. */
  readonly monotonicMs: () => number;
}

/** The result for one recipient. */
export interface RecipientResult {
  readonly effect: string;
  /** The webhook's host, the recipe's name or the email address; never a path, token or secret. */
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  /** The start of the response, on one line. */
  readonly answer: string | null;
  readonly durationMs: number;
  /** The requests of a recipe, with their responses. */
  readonly steps: readonly StepReport[];
}

export type RouteTestResult =
  | { readonly kind: Exclude<TenantRoutes["kind"], "routes"> }
  | { readonly kind: "tested"; readonly eventId: string; readonly results: readonly RecipientResult[] }
  | {
    readonly kind: "previewed";
    readonly requests: readonly (PreviewedRequest & { readonly effect: string })[];
    readonly faults: readonly string[];
  };

/** Sends a test event to all recipients concurrently, or previews the requests. Rejects if the database is unavailable. */
export async function testRoutes(request: TestRequest, parts: RouteTestParts): Promise<RouteTestResult> {
  const routes = await parts.routesOf(request.tenant, request);
  if (routes.kind !== "routes") return routes;
  const event = request.event ?? sampleEvent(request, parts.nowMs());
  const { tenant } = routes;
  if (request.isDryRun) {
    // Only posts before the event are found, so that the preview names the same ones as what was sent.
    const earlier = request.event === null ? noEarlierPosts : await parts.earlierPosts(event.eventId);
    const previews = await Promise.all(routes.routes.map(async (route) => {
      const sending = {
        ...sendRequest(event, { route, tenant, parts, isTest: request.event === null }),
        earlier,
      };
      const preview = await findDestination(parts, route)?.preview(sending);
      return preview === undefined ? [] : [{ ...preview, effect: route.kind }];
    }));
    return {
      kind: "previewed",
      requests: previews.flat().flatMap(({ requests, effect }) =>
        requests.map((one) => ({ effect, ...one }))
      ),
      faults: previews.flat().flatMap(({ fault }) => fault ?? []),
    };
  }
  const results = routes.routes.map((route) => sendTest(event, { route, tenant, parts }));
  return { kind: "tested", eventId: event.eventId, results: await Promise.all(results) };
}

interface TestRoute {
  readonly route: Route;
  readonly tenant: TenantNames;
  readonly parts: RouteTestParts;
}

function findDestination({ destinations }: RouteTestParts, { kind }: Route): Destination | undefined {
  return destinations.find((destination) => destination.kind === kind);
}

function sendRequest(
  event: DeliveredEvent,
  { route, tenant, parts, isTest }: TestRoute & { readonly isTest: boolean },
): SendRequest {
  const saveProgress = () => Promise.resolve();
  return {
    event,
    route,
    tenant,
    nowMs: parts.nowMs(),
    repeat: 0,
    isTest,
    earlier: noEarlierPosts,
    progress: null,
    saveProgress,
  };
}

async function sendTest(event: DeliveredEvent, test: TestRoute): Promise<RecipientResult> {
  const { route, parts } = test;
  const startedAtMs = parts.monotonicMs();
  const steps: StepReport[] = [];
  const request = {
    ...sendRequest(event, { ...test, isTest: true }),
    onStep: (step: StepReport) => void steps.push(step),
  };
  const outcome = await findDestination(parts, route)?.send(request) ?? failed("unknown_destination");
  const { status = null, answer = null } = outcome;
  return {
    effect: route.kind,
    target: route.address.startsWith("https:") ? new URL(route.address).host : route.address,
    outcome: outcome.kind === "done" ? "done" : "failed",
    reason: outcome.kind === "done" ? null : outcome.reason,
    status,
    answer,
    durationMs: Math.round(parts.monotonicMs() - startedAtMs),
    steps,
  };
}
