/**
 * What clients were told, and whom the limits refuse.
 *
 * @module
 */

import { type Asked, type History, membersOf, type What } from "../history.ts";
import { disturbances, inWords, isTouched, type Rules, seconds } from "./rule.ts";

/** Which statuses each kind of request may get; 503, 429 and 401 have rules of their own. */
const allowed: Readonly<Record<What, readonly number[]>> = {
  ...{ lead: [202, 200], form: [202, 200], trapped_form: [202, 200], invalid: [422], not_json: [400] },
  ...{ probe: [422], too_large: [413], unknown_key: [401], cut_short: [] },
};
const codes: Readonly<Record<number, string>> = {
  ...{ 400: "invalid_json", 401: "unauthorized", 413: "body_too_large", 422: "validation_failed" },
  ...{ 429: "rate_limited", 503: "not_accepting" },
};

/** How long after a disturbance 503 is still excused: a breaker's or a pool's pause, and a busy machine. */
const recoveryMs = 8_000;
/** A request that was sent so long before SIGTERM has arrived, handshake and all: when a machine takes longer, its pulse tells. */
const arrivedMs = 1_000;

/** The rules. */
export const answerRules: Rules = {
  /** SPEC, Errors: every answer is one that is documented for its request; nothing of 5xx but 503. */
  answers: ({ asked, keys }) => {
    const known = new Set(keys.map(({ id }) => id));
    return asked.flatMap((one) => {
      if (one.answer === null) return [];
      const { status } = one.answer;
      // Others' budgets, outages and revocations are looked at by the rules about those.
      const isOthers = status === 503 || status === 429 || status === 401 && known.has(one.keyId);
      if (!isOthers && !allowed[one.what].includes(status)) return [inWords(one)];
      const wrong = wrongBody(one);
      return wrong === null ? [] : [`${inWords(one)}, ${wrong}`];
    });
  },

  /** SPEC, Errors, 503: the store is unwritable or the key lookup failed, and not otherwise. */
  accepting: (history) => {
    const causes = disturbances(history);
    return history.asked.filter((one) => {
      const isRefused = one.answer?.status === 503 || one.answer === null && one.what !== "cut_short";
      if (!isRefused) return false;
      if (isTouched(causes, { fromMs: one.sentAtMs - recoveryMs, toMs: one.doneAtMs })) return false;
      // A process that ends in good order refuses connections until the next one listens.
      return !history.happened.some(({ kind, node, fromMs, toMs }) =>
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

  /** SPEC, Authentication: after a revocation no event of the key commits, and every answer to it is 401; before, none is. */
  revocation: ({ asked, keys, revoked, tables }) => {
    const when = new Map(revoked.map((one) => [one.keyId, one]));
    const known = new Set(keys.map(({ id }) => id));
    const wrong = asked.filter(({ keyId, answer }) => answer !== null && known.has(keyId)).filter((one) => {
      const revocation = when.get(one.keyId);
      const status = one.answer?.status ?? 0;
      if (status === 401) return revocation === undefined || one.doneAtMs < revocation.fromMs;
      return revocation !== undefined && one.sentAtMs > revocation.returnedAtMs &&
        ![503, 429, 413].includes(status);
    });
    const late = tables.events.filter(({ keyId, receivedAtMs }) =>
      receivedAtMs > (when.get(keyId)?.databaseMs ?? Infinity)
    );
    return [
      ...wrong.map((one) => `${inWords(one)}, with key ${one.keyId}`),
      ...late.map(({ eventId }) => `${eventId} was accepted after its key had been revoked`),
    ];
  },

  /** SPEC, Lead acknowledgement: the source is the label of the key that posted. */
  source: ({ asked, keys }) => {
    const labels = new Map(keys.map(({ id, label }) => [id, label]));
    return asked
      .filter(({ what, answer }) => what === "lead" && answer !== null && answer.status <= 202)
      .filter((one) => membersOf(one.answer).source !== labels.get(one.keyId))
      .map((one) => `${inWords(one)}, source ${membersOf(one.answer).source}`);
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

function wrongBody({ what, expected, answer }: Asked): string | null {
  const { error, status, fields, request_id: requestId } = membersOf(answer);
  if (answer === null) return null;
  if (answer.headers["x-request-id"] === undefined) return "without X-Request-Id";
  if (answer.status === 202) return status === "accepted" ? null : `status ${status}`;
  if (answer.status === 200) return status === "duplicate" ? null : `status ${status}`;
  if (error !== codes[answer.status]) return `error ${error}`;
  if (answer.status === 422) {
    const ofProbe = { first_name: "required", last_name: "required", phone: "required" };
    const sorted = (value: object) => JSON.stringify(Object.entries(value).sort());
    const isRight = sorted(Object(fields)) === sorted(what === "probe" ? ofProbe : expected);
    return isRight ? null : `fields ${JSON.stringify(fields)}`;
  }
  return answer.status === 413 && requestId !== undefined ? "with a request_id" : null;
}

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
