/**
 * What is told of it: counts, health, logs.
 *
 * @module
 */

import type { History } from "../history.ts";
import { keyDigest, marker } from "../leads.ts";
import { rarelyDone } from "../operator.ts";
import { disturbances, isCalm, isTouched, outages, type Rules, seconds, withoutCommit } from "./rule.ts";

/** DECISIONS, `GET /healthz`: a real write no older than 2 s; with what a busy machine adds. */
const truthMs = 4_500;

/** The rules. */
export const figureRules: Rules = {
  /** The report agrees with the events, and what is only counted with the answers: less what a killed process had not written. */
  counts: (history) => {
    const { tables, asked, duplicates, lives } = history;
    const cents = tables.events.filter(({ kind }) => kind === "lead")
      .reduce((sum, { lead }) => sum + Number(JSON.parse(lead || "{}").cost_cents ?? 0), 0);
    const { accepted, spendCents } = tables.report ?? {};
    const found = accepted === tables.events.length && spendCents === cents
      ? []
      : [`the report has ${accepted} and ${spendCents}, of ${tables.events.length} and ${cents}`];
    const begun = (index: number) =>
      Math.max(...lives.filter(({ node }) => node === index).map(({ atMs }) => atMs));
    const repeats = asked.filter(({ answer }) => answer === null || answer.status === 200);
    const least =
      repeats.filter(({ answer, node, sentAtMs }) => answer !== null && sentAtMs > begun(node)).length;
    return duplicates >= least && duplicates <= repeats.length
      ? found
      : [...found, `${duplicates} repeats are counted, of ${least} to ${repeats.length}`];
  },

  /** SPEC, Intake health: store_writable and ok soon say whether commits work; pending and dead are those of the tables. */
  health: (history) => {
    const { looks, happened, calmAtMs } = history;
    const spans = withoutCommit(history);
    const causes = disturbances(history);
    const quiet = outages(history);
    // A process that stood still itself could not know.
    const stops = causes.filter(({ kind }) => kind === "stop" || kind.startsWith("kill"));
    const ends = happened.filter(({ kind }) => kind === "terminate");
    const found = looks.flatMap(({ node, sentAtMs, doneAtMs, status, health }) => {
      if (health === null) return [];
      const { ok, store_writable: isWritable } = health;
      const hasFailed = spans.some(({ fromMs, toMs, stirredAtMs = fromMs }) =>
        sentAtMs > stirredAtMs + truthMs && doneAtMs < toMs
      ) && !isTouched(stops, { fromMs: sentAtMs - truthMs, toMs: doneAtMs, node });
      const isQuiet = !isTouched(quiet, { fromMs: sentAtMs, toMs: doneAtMs }) && isCalm(history, doneAtMs);
      const isStopping = isTouched(ends, { fromMs: sentAtMs, toMs: doneAtMs, node });
      const isWrong = isWritable && hasFailed || !isWritable && isQuiet || ok !== (status === 200) ||
        isQuiet && !isStopping && ok !== isWritable;
      return isWrong
        ? [`service ${node} says ${status}, ok ${ok}, store_writable ${isWritable} at ${seconds(sentAtMs)}`]
        : [];
    });
    const isHealthy = looks.some(({ sentAtMs, status }) => sentAtMs > calmAtMs && status === 200);
    return [...found, ...lastFigures(history), ...(isHealthy ? [] : ["nobody was healthy in the end"])];
  },

  /** What operators do changes the rows that it should, as it should, and no others; each verb was done. */
  operators: ({ operated, verbs }) => operated === null ? [] : [...operated, ...rarelyDone(verbs)],

  /** SPEC, Authentication: no key, no digest of one and no content of a lead is in anything that a process writes. */
  logs: ({ logs, keys }) =>
    logs.flatMap(({ name, text }) => [
      ...keys.filter((key) => text.includes(key.text.slice(10, 42)) || text.includes(keyDigest(key.text)))
        .map(({ id }) => `the log of ${name} has key ${id}`),
      ...(new RegExp(`^(.*)${marker}`, "im").exec(text) ?? []).slice(1)
        .map((before) => `the log of ${name} has content of a lead: ${before.slice(-120)}`),
      ...(text.match(/^.*"event":"(?:fault|uncaught)".*$/m) ?? []).slice(0, 1)
        .map((line) => `the log of ${name} tells of a fault: ${line.slice(0, 600)}`),
    ]),
};

function lastFigures({ looks, tables, nodes }: History): string[] {
  return Array.from({ length: nodes }, (_, node) => {
    const { ok, pending, dead } = looks.findLast((look) =>
      look.node === node && look.health !== null
    )?.health ?? {};
    return ok && pending === tables.outbox.length && dead === tables.dead.length ? [] : [
      `service ${node} says in the end: ok ${ok}, ${pending} pending, ${dead} dead, of ${tables.outbox.length} and ${tables.dead.length}`,
    ];
  }).flat();
}
