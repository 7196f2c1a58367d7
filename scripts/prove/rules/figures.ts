/**
 * Rules about counts, health, operators and logs.
 *
 * @module
 */

import type { Exchange, History } from "../history.ts";
import { keyDigest, marker } from "../leads.ts";
import { rareOperations } from "../operators/operator_run.ts";
import {
  disruptions,
  outages,
  overlapsAny,
  restarts,
  type Rules,
  seconds,
  spansWithoutCommit,
  wasResponsiveBefore,
} from "./rule.ts";

/** DECISIONS, `GET /healthz`: a real write no older than 2 s, with a margin for a busy machine. */
const healthDelayMaxMs = 4_500;

export const figureRules: Rules = {
  /** The report matches the events. No repeat or failed validation is missing from the counts, unless a killed process lost it. */
  counts: (history) => {
    const { tables, exchanges, counted, starts, keys } = history;
    const lastStartMs = (index: number) =>
      Math.max(...starts.filter(({ node }) => node === index).map(({ atMs }) => atMs));
    const certain = new Map<string, number>();
    for (const one of exchanges.filter((one) => one.sentAtMs > lastStartMs(one.node))) {
      for (const name of countsOf(one)) certain.set(name, (certain.get(name) ?? 0) + 1);
    }
    const lost = [...certain].filter(([name, count]) => (counted.get(name) ?? 0) < count)
      .map(([name, count]) =>
        `key ${name} is counted ${counted.get(name) ?? 0} times, expected at least ${count}`
      );
    const repeats = exchanges.filter(({ response }) => response === null || response.status === 200).length;
    // Only operators use other keys, without recording what they post.
    const duplicates = keys.reduce((sum, { id }) => sum + (counted.get(`${id} duplicate`) ?? 0), 0);
    return [
      ...tables.reportDifferences,
      ...lost,
      ...(duplicates > repeats ? [`${duplicates} repeats are counted, expected at most ${repeats}`] : []),
    ];
  },

  /** SPEC, Intake health: `store_writable` and `ok` report soon whether commits succeed; `pending` and `dead` match the tables. */
  health: (history) => {
    const { healthChecks, repairedAtMs } = history;
    const spans = spansWithoutCommit(history);
    const causes = disruptions(history);
    const outageSteps = outages(history);
    // A stopped process cannot detect failed commits.
    const stops = causes.filter(({ kind }) => kind === "stop" || kind.startsWith("kill"));
    const restarted = restarts(history);
    const found = healthChecks.flatMap(({ node, sentAtMs, doneAtMs, status, health }) => {
      if (health === null) return [];
      const { ok, store_writable: isWritable } = health;
      const hasFailed = spans.some(({ fromMs, toMs, canceledAtMs = fromMs }) =>
        sentAtMs > canceledAtMs + healthDelayMaxMs && doneAtMs < toMs
      ) && !overlapsAny(stops, { fromMs: sentAtMs - healthDelayMaxMs, toMs: doneAtMs, node });
      const span = { fromMs: sentAtMs, toMs: doneAtMs };
      const isUndisturbed = !overlapsAny(outageSteps, span) && !overlapsAny(restarted, { ...span, node }) &&
        wasResponsiveBefore(history, doneAtMs);
      const isWrong = isWritable && hasFailed || !isWritable && isUndisturbed || ok !== (status === 200) ||
        isUndisturbed && ok !== isWritable;
      return isWrong
        ? [`service ${node} reports ${status}, ok ${ok}, store_writable ${isWritable}, ${seconds(sentAtMs)}`]
        : [];
    });
    const isHealthy = healthChecks.some(({ sentAtMs, status }) => sentAtMs > repairedAtMs && status === 200);
    return [...found, ...finalHealth(history), ...(isHealthy ? [] : ["no process became healthy"])];
  },

  /** Operators' operations change rows exactly as the model does, and each operation ran often enough. */
  operators: ({ modelDifferences, operations }) =>
    modelDifferences === null ? [] : [...modelDifferences, ...rareOperations(operations)],

  /** SPEC, Authentication: no process logs a key, a key's digest, lead content or an unexpected error. */
  logs: ({ logs, keys }) =>
    logs.flatMap(({ name, text }) => [
      ...keys.filter((key) => text.includes(key.text.slice(10, 42)) || text.includes(keyDigest(key.text)))
        .map(({ id }) => `the log of ${name} contains key ${id} or its digest`),
      ...(new RegExp(`^(.*)${marker}`, "im").exec(text) ?? []).slice(1)
        .map((before) => `the log of ${name} contains lead content, after: ${before.slice(-120)}`),
      ...(text.match(/^.*"event":"(?:fault|uncaught)".*$/m) ?? []).slice(0, 1)
        .map((line) => `the log of ${name} reports a bug: ${line.slice(0, 600)}`),
    ]),
};

/** Returns the names of the compared counts that a request increases. A request with an empty body is not counted. */
function countsOf({ keyId, response, expected, body }: Exchange): string[] {
  if (response?.status === 200) return [`${keyId} duplicate`];
  if (response?.status !== 422 || body === "{}") return [];
  const fields = Object.entries(expected.fields ?? {});
  return [`${keyId} ${expected.error}`, ...fields.map(([field, reason]) => `${keyId} ${field} ${reason}`)];
}

/** Returns a message for each process whose last health report differs from the tables. */
function finalHealth({ healthChecks, tables, nodes }: History): string[] {
  return Array.from({ length: nodes }, (_, node) => {
    const last = healthChecks.findLast((check) => check.node === node && check.health !== null);
    const { ok, pending, dead } = last?.health ?? {};
    return ok && pending === tables.outbox.length && dead === tables.dead.length ? [] : [
      `service ${node} last reported ok ${ok}, ${pending} pending, ${dead} dead, expected ${tables.outbox.length} and ${tables.dead.length}`,
    ];
  }).flat();
}
