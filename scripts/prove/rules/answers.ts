/**
 * What clients were told, and whom the limits refuse.
 *
 * @module
 */

import { type Asked, type History, isPost, membersOf, namedEvent, type StoredEvent } from "../history.ts";
import {
  byId,
  differs,
  disturbances,
  inWords,
  isCalm,
  isTouched,
  outages,
  type Rules,
  seconds,
} from "./rule.ts";

/** Answers that depend on more than the request: budgets, outages and revocations have rules of their own. */
const others: Readonly<Record<number, string>> = {
  ...{ 401: "unauthorized", 429: "rate_limited", 503: "not_accepting" },
};
/** A request that was sent so long before SIGTERM has arrived, handshake and all: when a machine takes longer, its pulse tells. */
const arrivedMs = 1_000;

/** The rules. */
export const answerRules: Rules = {
  /** SPEC, Errors: every answer is one that is documented for its request; nothing of 5xx but 503. */
  answers: (history) => {
    const labels = new Map(history.keys.map(({ id, label }) => [id, label]));
    const events = byId(history);
    return history.asked.flatMap((one) => {
      const wrong = one.answer === null ? [] : wrongAnswer(one, labels.get(one.keyId), events);
      return wrong.length === 0 ? [] : [`${inWords(one)}, with another ${wrong}`];
    });
  },

  /** SPEC, Errors, 503: the store is unwritable or the key lookup failed, and not otherwise. */
  accepting: (history) => {
    const causes = outages(history);
    return history.asked.filter((one) => {
      const isRefused = one.answer?.status === 503 || one.answer === null && one.what !== "cut_short";
      if (!isRefused) return false;
      if (isTouched(causes, { fromMs: one.sentAtMs, toMs: one.doneAtMs })) return false;
      // A process that ends in good order refuses connections until the next one listens.
      return isCalm(history, one.doneAtMs) &&
        !history.happened.some(({ kind, node, fromMs, toMs }) =>
          kind === "terminate" && node === one.node && one.doneAtMs >= fromMs && one.sentAtMs <= toMs + 500
        );
    }).map(inWords);
  },

  /** DECISIONS, Operating it (exit): SIGTERM lets what is in flight finish, and the process ends with 0. */
  drain: (history) => {
    const causes = disturbances(history);
    return history.ended.filter(({ signal }) => signal === "SIGTERM").flatMap((end) => {
      if (isTouched(causes, { fromMs: end.atMs - 5_000, toMs: end.endedAtMs, node: end.node })) return [];
      const when = `SIGTERM at ${seconds(end.atMs)}`;
      const cut = history.asked.filter((one) =>
        one.node === end.node && one.answer === null && one.what !== "cut_short" &&
        one.sentAtMs < end.atMs - arrivedMs && one.doneAtMs > end.atMs
      );
      return [
        ...(end.code === 0 ? [] : [`service ${end.node} ended with ${end.code} on ${when}`]),
        ...cut.map((one) => `${inWords(one)}, in flight at ${when}`),
      ];
    });
  },

  /** A process that was up ends only when it is told to, and each starts again. */
  crash: ({ ended, unstarted }) => [
    ...ended.filter(({ signal }) => signal === null)
      .map(({ node, code, endedAtMs }) =>
        `service ${node} ended by itself (${code}) at ${seconds(endedAtMs)}`
      ),
    ...unstarted.map((what) => `did not start: ${what}`),
  ],

  /** SPEC, Authentication: while a key is revoked no event of it commits, and every answer to it is 401; else none is. */
  revocation: ({ asked, keys, revoked, tables }) => {
    const when = Map.groupBy(revoked, ({ keyId }) => keyId);
    const known = new Set(keys.map(({ id }) => id));
    const wrong = asked.filter(({ keyId, answer }) => answer !== null && known.has(keyId)).filter((one) => {
      const status = one.answer?.status ?? 0;
      const all = when.get(one.keyId) ?? [];
      if (status === 401) {
        const isMeant = one.expected.status === 401;
        return !isMeant &&
          !all.some(({ fromMs, until }) =>
            one.doneAtMs >= fromMs && one.sentAtMs <= (until?.toMs ?? Infinity)
          );
      }
      return ![503, 429, 413, 405].includes(status) &&
        all.some(({ returnedAtMs, until }) =>
          one.sentAtMs > returnedAtMs && one.doneAtMs < (until?.fromMs ?? Infinity)
        );
    });
    const late = tables.events.filter(({ keyId, receivedAtMs }) =>
      (when.get(keyId) ?? []).some(({ databaseMs, until }) =>
        receivedAtMs > databaseMs && receivedAtMs < (until?.databaseMs ?? Infinity)
      )
    );
    return [
      ...wrong.map((one) => `${inWords(one)}, with key ${one.keyId}`),
      ...late.map(({ eventId }) => `${eventId} was accepted after its key had been revoked`),
    ];
  },

  /** SPEC, Limits: 429 is said above the limits, and only there. */
  limits: (history) => {
    const limited = new Map(history.keys.flatMap(({ id, limit }) => limit === null ? [] : [[id, limit]]));
    const counted = history.asked.filter(({ what, answer }) =>
      answer !== null && what !== "cut_short" && answer.status !== 503
    );
    const isOfAddress = ({ address }: Asked) => address.startsWith("127.200.");
    const groups = Map.groupBy(
      counted,
      (one) => isOfAddress(one) ? "address" : limited.has(one.keyId) ? one.keyId : "",
    );
    return [...groups].flatMap(([name, all]) => {
      const refused = all.filter(({ answer }) => answer?.status === 429);
      if (name === "") return refused.map((one) => `${inWords(one)}, far below its limits`);
      const limit = limited.get(Number(name)) ?? addressLimit;
      return [
        ...tooMany(String(name), { all, limit, history }),
        ...tooEarly(refused, { all, limit, history }),
      ];
    });
  },
};

/** What an answer has that it should not. */
function wrongAnswer(
  { what, expected, requestId, answer }: Asked,
  label: string | undefined,
  events: ReadonlyMap<string, StoredEvent>,
): string[] {
  if (answer === null) return [];
  const { status, headers } = answer;
  const body = membersOf(answer);
  const isStored = status === 202 || status === 200;
  if (isStored !== isPost({ what }) && others[status] === undefined) {
    return [`status ${status}`, ...isStored ? ["store"] : []];
  }
  const pairs: Record<string, readonly [unknown, unknown]> = {
    request_id: [headers["x-request-id"], requestId],
  };
  if (isStored) {
    const event = events.get(namedEvent({ answer }));
    pairs.status = [body.status, status === 202 ? "accepted" : "duplicate"];
    // What is not stored is looked at by another rule.
    if (event !== undefined) pairs.received_at = [body.received_at, event.receivedAt];
    if (what === "lead") {
      pairs.source = [body.source, label];
      if (event !== undefined) pairs.flags = [body.flags, event.flags];
    }
  } else {
    const isOther = status !== expected.status && others[status] !== undefined;
    if (!isOther) pairs.status = [status, expected.status];
    pairs.error = [body.error, isOther ? others[status] : expected.error];
    if (!isOther) pairs.fields = [sorted(body.fields), sorted(expected.fields)];
    const isEarly = status === 413 || status === 429 && body.request_id === undefined;
    pairs.request_id_of_body = [body.request_id, isEarly ? undefined : requestId];
    if (status === 429) pairs.retry_after = [headers["retry-after"], "1"];
    if (status === 405) pairs.allow = [headers.allow, "POST"];
  }
  return Object.entries(pairs).filter(([, [is, wanted]]) => differs(is, wanted))
    .map(([name, [is]]) => `${name} (${JSON.stringify(is)})`);
}

const sorted = (value: unknown) => Object.entries(Object(value)).sort();

/** The published limit of an address, a burst and its refill. */
const addressLimit = { perMinute: 120, burst: 31 };
/** Above the sum: what refills while requests are on their way, and requests in the same millisecond. */
const slack = 1.05;

interface Group {
  readonly all: readonly Asked[];
  readonly limit: { readonly perMinute: number; readonly burst: number };
  readonly history: History;
}

/** Each life of a process begins with a full bucket. */
function tooMany(name: string, { all, limit, history }: Group): string[] {
  const passed = all.filter(({ answer }) => answer?.status !== 429).toSorted((a, b) =>
    a.sentAtMs - b.sentAtMs
  );
  return passed.flatMap(({ sentAtMs: begin }, first) => {
    // Bursts are apart: the count begins with each.
    if (begin - (passed[first - 1]?.sentAtMs ?? -Infinity) < 1_000) return [];
    const inWindow = passed.slice(first).filter(({ sentAtMs }) => sentAtMs - begin < 10_000);
    const end = Math.max(...inWindow.map(({ doneAtMs }) => doneAtMs));
    const nodes = new Set(inWindow.map(({ node }) => node));
    const lives = history.lives.filter(({ node, atMs }) => nodes.has(node) && atMs > begin && atMs < end);
    const buckets = nodes.size + lives.length;
    const earned = nodes.size * limit.perMinute * (end - begin) / 60_000;
    const most = Math.ceil((buckets * limit.burst + earned) * slack);
    return inWindow.length > most
      ? [`${name}: ${inWindow.length} passed within ${seconds(end - begin)}, at most ${most} may`]
      : [];
  });
}

/** Below the half of a burst nobody is to be refused. */
function tooEarly(refused: readonly Asked[], { all, limit }: Group): string[] {
  return refused.flatMap((one) => {
    const before = all.filter(({ sentAtMs }) =>
      sentAtMs <= one.doneAtMs && sentAtMs > one.doneAtMs - 60_000
    ).length;
    return before < limit.burst / 2 ? [`${inWords(one)}, after ${before} requests in a minute`] : [];
  });
}
