/** The operator's routes. They answer on the operator's own listener and nowhere else. */

import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { Router } from "../http/router.ts";
import { metricsType } from "../observe/metrics_text.ts";
import type { Registry } from "../observe/registry.ts";
import type { ConsoleParts } from "./console/context.ts";
import { addConsole, consoleNotFound } from "./console/router.ts";
import { leadsHandler } from "./leads.ts";
import { InvalidParameter } from "./parameters.ts";
import { dataText, jsonText, refuseOps } from "./reply.ts";
import { reportHandler, type ReportParts } from "./report.ts";
import { type Pool, Unavailable } from "../store/pool.ts";

/** What the two are made of. */
interface MetricsParts {
  readonly registry: Registry;
  /** Expvar's own members. */
  readonly processVars: () => { readonly cmdline: readonly string[]; readonly memstats: object };
}

/** All metrics in Prometheus's text format. It asks nothing of the store, so it works while that is away. */
function metricsHandler({ registry }: MetricsParts): Handler {
  return () => dataText(registry.text(), { "Content-Type": metricsType });
}

/**
 * The same of this process alone as JSON, beside `cmdline` and `memstats`, as expvar has it.
 *
 * Chosen: no environment and no arguments, which may hold somebody's secret.
 */
function debugVarsHandler({ registry, processVars }: MetricsParts): Handler {
  return () => jsonText(200, JSON.stringify({ ...processVars(), ...registry.json() }));
}

/** What the routes work with. */
interface OpsParts {
  /** Connections of its own that plan as the search needs it (`searchSettings`). */
  readonly pool: Pool;
  readonly console: ConsoleParts;
  readonly report: ReportParts;
  readonly metrics: MetricsParts;
}

/** The surface's routes. Source: SPEC, Surfaces; DECISIONS, Forms. */
export function opsRouter(parts: OpsParts): Router {
  const router = new Router({
    notFound: (exchange) =>
      consoleNotFound(exchange, parts.console) ?? refuseOps("not_found", exchange.requestId),
    methodNotAllowed: ({ requestId }) => refuseOps("method_not_allowed", requestId),
  })
    .get("/v1/leads", answered(leadsHandler(parts.pool)))
    .get("/v1/report", answered(reportHandler(parts.report)))
    .get("/metrics", metricsHandler(parts.metrics))
    .get("/debug/vars", debugVarsHandler(parts.metrics));
  addConsole(router, parts.console);
  return router;
}

/** With an answer for what a handler of data throws: a wrong parameter, or a store that is away or takes too long. */
function answered(handler: Handler): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      return refusalOf(exchange, error);
    }
  };
}

function refusalOf({ requestId }: Exchange, error: unknown): Reply {
  if (error instanceof InvalidParameter) {
    return refuseOps("invalid_parameter", requestId, { parameter: error.parameter, message: error.message });
  }
  if (error instanceof Unavailable) return refuseOps("not_available", requestId);
  throw error;
}
