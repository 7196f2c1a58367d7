/**
 * What is told of it: counts, health, logs.
 *
 * @module
 */

import type { History } from "../history.ts";
import { keyDigest, marker } from "../leads.ts";
import { rarelyDone } from "../operator.ts";
import { disturbances, isTouched, type Rules, seconds, withoutCommit } from "./rule.ts";

/** DECISIONS, `GET /healthz`: a real write no older than 2 s; with what a busy machine adds. */
const truthMs = 4_500;
const recoveryMs = 8_000;

/** The rules. */
export const figureRules: Rules = {
  /** Outbox, running counts, campaigns' spend and the report agree with the events. */
  counts: ({ tables, keys, asked }) => {
    const campaigns = new Map(keys.map(({ id, campaign }) => [id, campaign]));
    const leads = tables.events.filter(({ kind }) => kind === "lead").map(({ keyId, lead }) => ({
      campaign: campaigns.get(keyId) ?? "",
      cents: Number((JSON.parse(lead || "{}") as { cost_cents?: number }).cost_cents ?? 0),
    }));
    const spend = (campaign?: string) =>
      leads.filter((lead) => campaign === undefined || lead.campaign === campaign)
        .reduce((sum, { cents }) => sum + cents, 0);
    const pairs: [what: string, is: number | undefined, wanted: number][] = [
      ["the count of what waits", tables.tally.pending, tables.outbox.length],
      ["the count of what is dead", tables.tally.dead, tables.dead.length],
      ...Object.entries(tables.spendCents).map(([campaign, cents]): [string, number, number] => [
        `the spend of ${campaign}`,
        cents,
        spend(campaign),
      ]),
      ["accepted in the report", tables.report?.accepted, tables.events.length],
      ["the spend in the report", tables.report?.spendCents, spend()],
    ];
    const dead = new Set(tables.dead.map(({ eventId }) => eventId));
    // What a killed process had counted may be lost, and what it answered may not have arrived.
    const most = (keyId: string) =>
      asked.filter(({ answer, keyId: own }) =>
        answer === null || String(own) === keyId && answer.status === 200
      )
        .length;
    return [
      ...pairs.filter(([, is, wanted]) => is !== wanted)
        .map(([what, is, wanted]) => `${what} is ${is} and not ${wanted}`),
      ...tables.outbox.filter((eventId) => dead.has(eventId)).map((eventId) =>
        `${eventId} waits and is dead`
      ),
      ...Object.entries(tables.duplicates).filter(([keyId, count]) => count > most(keyId))
        .map(([keyId, count]) => `${count} repeats are counted of key ${keyId}, which got ${most(keyId)}`),
    ];
  },

  /** SPEC, Intake health: store_writable and ok soon say whether commits work; pending and dead are those of the tables. */
  health: (history) => {
    const { looks, happened, calmAtMs } = history;
    const spans = withoutCommit(history);
    const causes = disturbances(history);
    // A process that stood still itself could not know.
    const stops = causes.filter(({ kind }) => kind === "stop" || kind.startsWith("kill"));
    const ends = happened.filter(({ kind }) => kind === "terminate");
    const found = looks.flatMap(({ node, sentAtMs, doneAtMs, status, health }) => {
      if (health === null) return [];
      const { ok, store_writable: isWritable } = health;
      const hasFailed = spans.some(({ fromMs, toMs, stirredAtMs = fromMs }) =>
        sentAtMs > stirredAtMs + truthMs && doneAtMs < toMs
      ) && !isTouched(stops, { fromMs: sentAtMs - truthMs, toMs: doneAtMs, node });
      const isQuiet = !isTouched(causes, { fromMs: sentAtMs - recoveryMs, toMs: doneAtMs });
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
  operators: ({ operated }) => operated === null ? [] : [...operated.found, ...rarelyDone(operated.verbs)],

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
