/** The routes of the operator's listener. */

import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { Router } from "../http/router.ts";
import { metricsType } from "../observe/metrics_text.ts";
import type { Registry } from "../observe/registry.ts";
import type { ConsoleParts } from "./console/context.ts";
import { addConsole, consoleNotFound } from "./console/router.ts";
import { leadsHandler } from "./leads.ts";
import { InvalidParameter } from "./parameters.ts";
import { jsonReply, opsError, textReply } from "./reply.ts";
import { reportHandler, type ReportParts } from "./report.ts";
import { statementHandler } from "./statement.ts";
import { SearchTimeout } from "../store/operator/search_entry.ts";
import { Unavailable } from "../store/pool.ts";

/** The dependencies of `/metrics` and `/debug/vars`. */
interface MetricsParts {
  readonly registry: Registry;
  /** The members that expvar itself defines. */
  readonly processVars: () => { readonly cmdline: readonly string[]; readonly memstats: object };
}

/** Serves the metrics in Prometheus's text format, without access to the store. */
function metricsHandler({ registry }: MetricsParts): Handler {
  return () => textReply(registry.text(), { "Content-Type": metricsType });
}

/**
 * Serves the metrics as JSON in expvar's format, with `cmdline` and `memstats`.
 *
 * Chosen: without the environment and the command's arguments, which may contain secrets.
 */
function debugVarsHandler({ registry, processVars }: MetricsParts): Handler {
  return () => jsonReply(200, JSON.stringify({ ...processVars(), ...registry.json() }));
}

interface OpsParts {
  readonly console: ConsoleParts;
  readonly report: ReportParts;
  readonly metrics: MetricsParts;
}

/** Source: SPEC, Surfaces; DECISIONS, Forms. */
export function opsRouter(parts: OpsParts): Router {
  const router = new Router({
    notFound: (exchange) =>
      consoleNotFound(exchange, parts.console) ?? opsError("not_found", exchange.requestId),
    methodNotAllowed: ({ requestId }) => opsError("method_not_allowed", requestId),
  })
    .get("/v1/leads", withErrors(leadsHandler(parts.console)))
    .get("/v1/report", withErrors(reportHandler(parts.report)))
    .get("/v1/statement", withErrors(statementHandler(parts.console.pool)))
    .get("/metrics", metricsHandler(parts.metrics))
    .get("/debug/vars", debugVarsHandler(parts.metrics));
  addConsole(router, parts.console);
  return router;
}

/** Wraps a data handler: an invalid parameter or an unavailable store becomes an error response. */
function withErrors(handler: Handler): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (error) {
      return errorReply(exchange, error);
    }
  };
}

function errorReply({ requestId }: Exchange, error: unknown): Reply {
  if (error instanceof InvalidParameter) {
    return opsError("invalid_parameter", requestId, { parameter: error.parameter, message: error.message });
  }
  if (error instanceof SearchTimeout) return opsError("too_broad", requestId, { message: error.message });
  if (error instanceof Unavailable) return opsError("not_available", requestId);
  throw error;
}
