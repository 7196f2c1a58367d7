/**
 * What is told of it: counts, health, logs.
 *
 * @module
 */

import type { History } from "../history.ts";
import { keyDigest } from "../key_text.ts";
import { marker } from "../leads.ts";
import { disturbances, isTouched, type Rule, seconds } from "./rule.ts";

/** Everything that is counted somewhere. */
export const countsAddUp: Rule = {
  name: "counts",
  says: "outbox, running counts, campaigns' spend and the report agree with the events",
  broken: ({ tables, keys, asked }) => {
    const found: string[] = [];
    const say = (what: string, is: number, wanted: number) =>
      is === wanted || found.push(`${what} is ${is} and not ${wanted}`);
    say("the count of what waits", tables.tally.pending, tables.outbox.length);
    say("the count of what is dead", tables.tally.dead, tables.dead.length);
    const campaigns = new Map(keys.map(({ id, campaign }) => [id, campaign]));
    const cents = Map.groupBy(tables.events, ({ keyId }) => campaigns.get(keyId) ?? "");
    const costOf = (lead: string) =>
      Number((JSON.parse(lead || "{}") as { cost_cents?: number }).cost_cents ?? 0);
    const sum = (campaign: string) =>
      (cents.get(campaign) ?? []).reduce((all, { lead }) => all + costOf(lead), 0);
    for (const [campaign, spend] of Object.entries(tables.spendCents)) {
      say(`the spend of ${campaign}`, spend, sum(campaign));
    }
    const states = Map.groupBy(
      [...tables.outbox, ...tables.dead.map(({ eventId }) => eventId)],
      (eventId) => eventId,
    );
    for (const [eventId, all] of states) if (all.length > 1) found.push(`${eventId} waits and is dead`);
    if (tables.report === null) found.push("the report was not answered");
    else {
      say("accepted in the report", tables.report.accepted, tables.events.length);
      say(
        "the spend in the report",
        tables.report.spendCents,
        tables.events.reduce((all, { kind, lead }) => all + (kind === "lead" ? costOf(lead) : 0), 0),
      );
    }
    // What a killed process had counted may be lost, and what it answered may not have arrived.
    const open = asked.filter(({ answer }) => answer === null).length;
    for (const [keyId, count] of Object.entries(tables.duplicates)) {
      const most = asked.filter((one) => one.keyId === Number(keyId) && one.answer?.status === 200).length +
        open;
      if (count > most) found.push(`${count} repeats are counted of key ${keyId}, which got ${most}`);
    }
    return found;
  },
};

/** DECISIONS, `GET /healthz`: a real write no older than 2 s; with what a busy machine adds. */
const truthMs = 4_500;
const recoveryMs = 8_000;

/** SPEC, Intake health. */
export const healthIsTrue: Rule = {
  name: "health",
  says:
    "store_writable is false soon after commits fail, and true while they work; pending and dead are those of the tables",
  broken: (history) => {
    const { looks, happened, calmAtMs } = history;
    const found: string[] = [];
    const spans = happened.flatMap(({ kind, noCommit }) => noCommit === null ? [] : [{ kind, ...noCommit }]);
    const causes = disturbances(history);
    for (const { node, sentAtMs, doneAtMs, status, health } of looks) {
      if (health === null) {
        continue;
      }
      const span = spans.find(({ fromMs, toMs, stirredAtMs = fromMs }) =>
        sentAtMs > stirredAtMs + truthMs && doneAtMs < toMs
      );
      // A process that stood still itself could not know.
      const wasStopped = isTouched(causes.filter(({ kind }) => kind === "stop" || kind.startsWith("kill")), {
        ...{ fromMs: sentAtMs - truthMs, toMs: doneAtMs, node },
      });
      if (health.store_writable && span !== undefined && !wasStopped) {
        found.push(
          `service ${node} says at ${
            seconds(sentAtMs)
          } that the store is writable, during ${span.kind} since ${seconds(span.fromMs)}`,
        );
      }
      const isQuiet = !isTouched(causes, { fromMs: sentAtMs - recoveryMs, toMs: doneAtMs });
      const isStopping = isTouched(happened.filter(({ kind }) => kind === "terminate"), {
        fromMs: sentAtMs,
        toMs: doneAtMs,
        node,
      });
      if (!health.store_writable && isQuiet) {
        found.push(
          `service ${node} says at ${seconds(sentAtMs)} that the store is not writable, and nothing is wrong`,
        );
      }
      if (health.ok !== (status === 200)) {
        found.push(`service ${node} answers ${status} with ok ${health.ok}`);
      }
      if (isQuiet && !isStopping && health.ok !== health.store_writable) {
        found.push(`service ${node} says ok ${health.ok} and store_writable ${health.store_writable}`);
      }
    }
    found.push(...lastFigures(history));
    if (!looks.some(({ sentAtMs, status }) => sentAtMs > calmAtMs && status === 200)) {
      found.push("nobody was healthy in the end");
    }
    return found;
  },
};

function lastFigures({ looks, tables, nodes }: History): string[] {
  return Array.from(
    { length: nodes },
    (_, node) => looks.filter((look) => look.node === node && look.health !== null).at(-1),
  )
    .flatMap((look, node) => {
      if (look?.health === undefined || look.health === null) {
        return [`service ${node} never told its health`];
      }
      const { ok, pending, dead } = look.health;
      if (!ok) return [`service ${node} is not well in the end`];
      return pending === tables.outbox.length && dead === tables.dead.length ? [] : [
        `service ${node} tells ${pending} pending and ${dead} dead in the end, of ${tables.outbox.length} and ${tables.dead.length}`,
      ];
    });
}

/** SPEC, Authentication; DECISIONS, Operating it (logs). */
export const logsAreClean: Rule = {
  name: "logs",
  says: "no key, no digest of one and no content of a lead is in anything that a process writes",
  broken: ({ logs, keys }) =>
    logs.flatMap(({ name, text }) => [
      ...keys.filter((key) => text.includes(key.text.slice(10, 42)) || text.includes(keyDigest(key.text)))
        .map(({ id }) => `the log of ${name} has key ${id}`),
      ...(text.includes(marker) || text.includes(marker.toLowerCase())
        ? [`the log of ${name} has content of a lead: ${lineWith(text)}`]
        : []),
      ...(text.match(/^.*"event":"(?:fault|uncaught)".*$/m) ?? []).slice(0, 1)
        .map((line) => `the log of ${name} tells of a fault: ${line.slice(0, 600)}`),
    ]),
};

function lineWith(text: string): string {
  const at = text.toLowerCase().indexOf(marker.toLowerCase());
  return text.slice(Math.max(0, at - 120), at).replaceAll("\n", " ");
}
