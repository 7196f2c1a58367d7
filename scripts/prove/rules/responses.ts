/**
 * Rules about responses and limits.
 *
 * @module
 */

import {
  acknowledgedId,
  type Exchange,
  type History,
  isPost,
  membersOf,
  type StoredEvent,
} from "../history.ts";
import {
  byId,
  describe,
  differences,
  disruptions,
  outages,
  overlapsAny,
  restarts,
  type Rules,
  seconds,
  wasResponsiveBefore,
} from "./rule.ts";

/** The errors that any request may get, by status; other rules check whether they are justified. */
const sharedErrors: Readonly<Record<number, string>> = {
  401: "unauthorized",
  429: "rate_limited",
  503: "not_accepting",
};
/** A request sent this long before SIGTERM has certainly been received. */
const receivedMs = 1_000;

export const responseRules: Rules = {
  /** SPEC, Errors: every response is documented for its request; 503 is the only 5xx. */
  responses: (history) => {
    const labels = new Map(history.keys.map(({ id, label }) => [id, label]));
    const events = byId(history);
    return history.exchanges.flatMap((one) => {
      const wrong = one.response === null ? [] : responseDifferences(one, labels.get(one.keyId), events);
      return wrong.length === 0 ? [] : [`${describe(one)}: ${wrong.join("; ")}`];
    });
  },

  /** SPEC, Errors, 503: requests get 503 or no response only during a fault or shortly after it. */
  accepting: (history) => {
    const causes = outages(history);
    const ends = restarts(history);
    return history.exchanges.filter((one) => {
      const isRefused = one.response?.status === 503 || one.response === null && one.kind !== "cut_short";
      if (!isRefused) return false;
      const span = { fromMs: one.sentAtMs, toMs: one.doneAtMs };
      return !overlapsAny(causes, span) && !overlapsAny(ends, { ...span, node: one.node }) &&
        wasResponsiveBefore(history, one.doneAtMs);
    }).map(describe);
  },

  /** DECISIONS, Operating it (exit): on SIGTERM, requests in flight finish and the process exits with code 0. */
  drain: (history) => {
    const causes = disruptions(history);
    return history.exits.filter(({ signal }) => signal === "SIGTERM").flatMap((end) => {
      if (overlapsAny(causes, { fromMs: end.atMs - 5_000, toMs: end.endedAtMs, node: end.node })) return [];
      const when = `SIGTERM at ${seconds(end.atMs)}`;
      const unanswered = history.exchanges.filter((one) =>
        one.node === end.node && one.response === null && one.kind !== "cut_short" &&
        one.sentAtMs < end.atMs - receivedMs && one.doneAtMs > end.atMs
      );
      return [
        ...(end.code === 0
          ? []
          : [`service ${end.node} exited with code ${end.code}, expected 0, on ${when}`]),
        ...unanswered.map((one) => `${describe(one)}, in flight at ${when}`),
      ];
    });
  },

  /** No process exits on its own, and each starts again. */
  crash: ({ exits, failedStarts }) => [
    ...exits.filter(({ signal }) => signal === null)
      .map(({ node, code, endedAtMs }) =>
        `service ${node} exited on its own (${code}), ${seconds(endedAtMs)}`
      ),
    ...failedStarts.map((what) => `did not start: ${what}`),
  ],

  /** SPEC, Authentication: while a key is revoked, no event with it commits and every response is 401; at other times, no response is. */
  revocation: ({ exchanges, keys, revocations, tables }) => {
    const byKey = Map.groupBy(revocations, ({ keyId }) => keyId);
    const known = new Set(keys.map(({ id }) => id));
    const wrong = exchanges.filter(({ keyId, response }) => response !== null && known.has(keyId)).filter(
      (one) => {
        const status = one.response?.status ?? 0;
        const all = byKey.get(one.keyId) ?? [];
        if (status === 401) {
          const isExpected = one.expected.status === 401;
          return !isExpected &&
            !all.some(({ fromMs, reactivated }) =>
              one.doneAtMs >= fromMs && one.sentAtMs <= (reactivated?.toMs ?? Infinity)
            );
        }
        return ![503, 429, 413, 405].includes(status) &&
          all.some(({ returnedAtMs, reactivated }) =>
            one.sentAtMs > returnedAtMs && one.doneAtMs < (reactivated?.fromMs ?? Infinity)
          );
      },
    );
    const late = tables.events.filter(({ keyId, receivedAtMs }) =>
      (byKey.get(keyId) ?? []).some(({ databaseMs, reactivated }) =>
        receivedAtMs > databaseMs && receivedAtMs < (reactivated?.databaseMs ?? Infinity)
      )
    );
    return [
      ...wrong.map((one) => `${describe(one)}, with key ${one.keyId}`),
      ...late.map(({ eventId }) => `${eventId} was accepted while its key was revoked`),
    ];
  },

  /** SPEC, Limits: requests above the limits, and only those, get 429. */
  limits: (history) => {
    // The forms of a tenant share its limit.
    const limited = new Map(
      history.keys.filter(({ limit }) => limit !== null).map((key) => [
        key.id,
        { ...key, holder: key.surface === "forms" ? `forms of ${key.tenant}` : `key ${key.id}` },
      ]),
    );
    const limits = new Map([...limited.values()].map(({ holder, limit }) => [holder, limit]));
    const groups = Map.groupBy(
      history.exchanges.filter(({ kind }) => kind !== "cut_short"),
      (one) => limitedNetworkOf(one) ?? limited.get(one.keyId)?.holder ?? "",
    );
    return [...groups].flatMap(([name, all]) => {
      const refused = all.filter(({ response }) => response?.status === 429);
      if (name === "") return refused.map((one) => `${describe(one)}, far below its limits`);
      const limit = limits.get(name) ?? addressLimits[name] as Limit;
      return [
        ...excessBursts(name, limit, all, history.starts),
        ...refused.filter((one) => hadTokens(one, all, limit)).map((one) =>
          `${describe(one)}, below a limit`
        ),
      ];
    });
  },
};

/** The published limits of addresses, for leads and for forms, by the network from which clients exceed them. */
const addressLimits: Readonly<Record<string, Limit>> = {
  "127.200.": { perMinute: 120, burst: 31 },
  "127.201.": { perMinute: 600, burst: 100 },
};
/** Returns the network of an address with the published limit. */
const limitedNetworkOf = ({ address }: Exchange) =>
  Object.keys(addressLimits).find((network) => address.startsWith(network));

/** Returns a message for each difference between a response and the documented one. */
function responseDifferences(
  one: Exchange,
  label: unknown,
  events: ReadonlyMap<string, StoredEvent>,
): string[] {
  const { kind, expected, response } = one;
  if (response === null) return [];
  const { status, headers } = response;
  const sentId = headers["x-request-id"];
  const isGenerated = /^[0-9a-f]{24}$/.test(String(sentId));
  const requestId = one.requestId ?? (isGenerated ? sentId : "generated");
  const body = membersOf(response);
  const isStored = status === 202 || status === 200;
  if (isStored !== isPost({ kind }) && sharedErrors[status] === undefined) {
    return [`status is ${status}`];
  }
  const pairs: Record<string, readonly [unknown, unknown]> = {
    request_id: [sentId, requestId],
  };
  if (isStored) {
    const event = events.get(acknowledgedId({ response }));
    pairs.status = [body.status, status === 202 ? "accepted" : "duplicate"];
    // The rule `stored` reports a missing event.
    if (event !== undefined) pairs.received_at = [body.received_at, event.receivedAt];
    if (kind === "lead") {
      pairs.source = [body.source, label];
      if (event !== undefined) pairs.flags = [body.flags, event.flags];
    }
  } else {
    const hasSharedError = status !== expected.status && sharedErrors[status] !== undefined;
    if (!hasSharedError) pairs.status = [status, expected.status];
    pairs.error = [body.error, hasSharedError ? sharedErrors[status] : expected.error];
    if (!hasSharedError) pairs.fields = [sorted(body.fields), sorted(expected.fields)];
    // These refusals precede the handler.
    const isBeforeHandler = status === 413 || status === 429 && limitedNetworkOf(one) !== undefined;
    pairs.request_id_of_body = [body.request_id, isBeforeHandler ? undefined : requestId];
    if (status === 429) pairs.retry_after = [headers["retry-after"], "1"];
    if (status === 405) pairs.allow = [headers.allow, "POST"];
  }
  return differences(pairs);
}

const sorted = (value: unknown) => Object.entries(Object(value)).sort();

/** A margin for requests in flight and within the same millisecond. */
const marginFactor = 1.05;

interface Limit {
  readonly perMinute: number;
  readonly burst: number;
}

/** Returns a message for each burst of which too many requests passed; a restarted process has full buckets. */
function excessBursts(
  name: string,
  limit: Limit,
  all: readonly Exchange[],
  starts: History["starts"],
): string[] {
  const passed = all.filter(({ response }) => response !== null && ![429, 503].includes(response.status))
    .toSorted((a, b) => a.sentAtMs - b.sentAtMs);
  return passed.flatMap(({ sentAtMs: beginMs }, first) => {
    // A burst starts with a request after a pause.
    if (beginMs - (passed[first - 1]?.sentAtMs ?? -Infinity) < 1_000) return [];
    const inWindow = passed.slice(first).filter(({ sentAtMs }) => sentAtMs - beginMs < 10_000);
    const endMs = Math.max(...inWindow.map(({ doneAtMs }) => doneAtMs));
    const nodes = new Set(inWindow.map(({ node }) => node));
    const restarts = starts.filter(({ node, atMs }) => nodes.has(node) && atMs > beginMs && atMs < endMs);
    const buckets = nodes.size + restarts.length;
    const earned = nodes.size * limit.perMinute * (endMs - beginMs) / 60_000;
    const countMax = Math.ceil((buckets * limit.burst + earned) * marginFactor);
    if (inWindow.length <= countMax) return [];
    const span = seconds(endMs - beginMs);
    return [`${name}: ${inWindow.length} requests passed in ${span}, expected at most ${countMax}`];
  });
}

/** Whether the request's bucket certainly had tokens, in whatever order concurrent requests were counted. */
function hadTokens(request: Exchange, all: readonly Exchange[], { perMinute, burst }: Limit): boolean {
  const { sentAtMs, doneAtMs, node } = request;
  let tokens = burst;
  let sinceMs = Infinity;
  const refill = (untilMs: number) => {
    tokens = Math.min(burst, tokens + Math.max(0, untilMs - sinceMs) * perMinute / 60_000);
  };
  const before = all.filter((one) =>
    one.node === node && one.sentAtMs <= doneAtMs && one.response?.status !== 429
  );
  for (const one of before.toSorted((a, b) => a.doneAtMs - b.doneAtMs)) {
    refill(Math.min(one.sentAtMs, sentAtMs));
    tokens -= 1;
    sinceMs = one.doneAtMs;
  }
  refill(sentAtMs);
  return tokens > 2 + burst * (marginFactor - 1);
}
