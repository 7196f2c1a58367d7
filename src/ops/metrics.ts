/**
 * `GET /metrics` and `GET /debug/vars`: what the process counts and measures, for Prometheus and for whoever reads
 * expvar.
 *
 * @module
 */

import type { Handler } from "../http/exchange.ts";
import { type Figure, figuresText } from "../observe/figures.ts";
import { metricsType } from "../observe/metrics_text.ts";
import type { Registry } from "../observe/registry.ts";
import { dataText, jsonText } from "./reply.ts";

/** What the two are made of. */
export interface MetricsParts {
  readonly registry: Registry;
  /** Of all processes of the service, where there are several. */
  readonly figures: () => Promise<readonly Figure[]>;
  /** Expvar's own members. */
  readonly processVars: () => { readonly cmdline: readonly string[]; readonly memstats: object };
}

/** All metrics in Prometheus's text format. It asks nothing of the store, so it works while that is away. */
export function metricsHandler({ figures }: MetricsParts): Handler {
  return async () => dataText(figuresText(await figures()), { "Content-Type": metricsType });
}

/**
 * The same of this process alone as JSON, beside `cmdline` and `memstats`, as expvar has it.
 *
 * Chosen: no environment and no arguments, which may hold somebody's secret.
 */
export function debugVarsHandler({ registry, processVars }: MetricsParts): Handler {
  return () => jsonText(200, JSON.stringify({ ...processVars(), ...registry.json() }));
}
