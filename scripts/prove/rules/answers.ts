/**
 * What clients were told.
 *
 * @module
 */

import { type Asked, isPost, membersOf, type What } from "../history.ts";
import { disturbances, inWords, isTouched, type Rule, seconds } from "./rule.ts";

/** Which statuses each kind of request may get; 503, 429 and 401 have rules of their own. */
const allowed: Readonly<Record<What, readonly number[]>> = {
  lead: [202, 200],
  form: [202, 200],
  trapped_form: [202, 200],
  invalid: [422],
  not_json: [400],
  probe: [422],
  too_large: [413],
  unknown_key: [401],
  cut_short: [],
};

const codes: Readonly<Record<number, string>> = {
  400: "invalid_json",
  401: "unauthorized",
  413: "body_too_large",
  422: "validation_failed",
  429: "rate_limited",
  503: "not_accepting",
};

/** SPEC, Errors: every answer is one that is documented for its request. */
export const documented: Rule = {
  name: "answers",
  says: "every answer is one that the contract has for that request; nothing of 5xx but 503",
  broken: ({ asked, keys }) => {
    const known = new Map(keys.map((key) => [key.id, key]));
    return asked.flatMap((one) => {
      if (one.answer === null) return [];
      const { status } = one.answer;
      // Others' budgets, outages and revocations are looked at by the rules about those.
      const isOthers = status === 503 || status === 429 || status === 401 && known.has(one.keyId);
      if (!isOthers && !allowed[one.what].includes(status)) return [inWords(one)];
      return wrongBody(one);
    });
  },
};

function wrongBody(one: Asked): string[] {
  const answer = one.answer;
  if (answer === null) return [];
  const { error, status, fields, request_id: requestId } = membersOf(answer);
  if (answer.headers["x-request-id"] === undefined) return [`${inWords(one)}, without X-Request-Id`];
  if (answer.status === 202 || answer.status === 200) {
    return status === (answer.status === 202 ? "accepted" : "duplicate")
      ? []
      : [`${inWords(one)}, status ${status}`];
  }
  if (error !== codes[answer.status]) return [`${inWords(one)}, error ${error}`];
  if (answer.status === 422) {
    const wanted = one.what === "probe"
      ? { first_name: "required", last_name: "required", phone: "required" }
      : one.expected;
    const sorted = (value: object) => JSON.stringify(Object.entries(value).sort());
    if (sorted(Object(fields)) !== sorted(wanted)) {
      return [`${inWords(one)}, fields ${JSON.stringify(fields)}`];
    }
  }
  if (answer.status === 413 && requestId !== undefined) return [`${inWords(one)}, with a request_id`];
  return [];
}

/** How long after a disturbance 503 is still excused: a breaker's or a pool's pause, and a busy machine. */
const recoveryMs = 8_000;

/** SPEC, Errors, 503: the store is unwritable or the key lookup failed, and not otherwise. */
export const noRefusalWithoutCause: Rule = {
  name: "accepting",
  says: "503 or no answer only while something is wrong, or has just been",
  broken: (history) => {
    const causes = disturbances(history);
    return history.asked.flatMap((one) => {
      const isRefused = one.answer?.status === 503 || one.answer === null && one.what !== "cut_short";
      if (!isRefused) return [];
      const span = { fromMs: one.sentAtMs - recoveryMs, toMs: one.doneAtMs };
      if (isTouched(causes, span)) return [];
      // A process that ends in good order refuses connections until the next one listens.
      const isBetweenLives = history.happened.some(({ kind, node, fromMs, toMs }) =>
        kind === "terminate" && node === one.node && one.doneAtMs >= fromMs && one.sentAtMs <= toMs + 500
      );
      return isBetweenLives ? [] : [inWords(one)];
    });
  },
};

/** A request that was sent so long before SIGTERM has arrived, handshake and all: when a machine takes longer, its pulse tells. */
const arrivedMs = 1_000;

/** DECISIONS, Operating it (exit). */
export const inFlightIsFinished: Rule = {
  name: "drain",
  says: "SIGTERM lets what is in flight finish, and the process ends with 0",
  broken: (history) => {
    const causes = disturbances(history);
    return history.ended.filter(({ signal }) => signal === "SIGTERM").flatMap((end) => {
      const span = { fromMs: end.atMs - 5_000, toMs: end.endedAtMs, node: end.node };
      if (isTouched(causes, span)) return [];
      const code = end.code === 0
        ? []
        : [`service ${end.node} ended with ${end.code} on SIGTERM at ${seconds(end.atMs)}`];
      const cut = history.asked.filter((one) =>
        one.node === end.node && one.answer === null && one.what !== "cut_short" &&
        one.sentAtMs < end.atMs - arrivedMs && one.doneAtMs > end.atMs
      );
      return [...code, ...cut.map((one) => `${inWords(one)}, in flight at SIGTERM at ${seconds(end.atMs)}`)];
    });
  },
};

/** A process that was up ends only when it is told to. */
export const noCrash: Rule = {
  name: "crash",
  says: "no process ends by itself, and each starts again",
  broken: ({ ended, unstarted }) => [
    ...ended.filter(({ signal }) => signal === null)
      .map(({ node, code, endedAtMs }) =>
        `service ${node} ended by itself (${code}) at ${seconds(endedAtMs)}`
      ),
    ...unstarted.map((what) => `did not start: ${what}`),
  ],
};

/** SPEC, Authentication; DECISIONS, Key check. */
export const revokedKeysEnd: Rule = {
  name: "revocation",
  says:
    "after a revocation has returned no event of the key commits, and every answer to it is 401; before, none is",
  broken: ({ asked, keys, revoked, tables }) => {
    const when = new Map(revoked.map((one) => [one.keyId, one]));
    const known = new Set(keys.map(({ id }) => id));
    const wrong = asked.flatMap((one) => {
      if (one.answer === null || !known.has(one.keyId)) return [];
      const { status } = one.answer;
      const revocation = when.get(one.keyId);
      if (status === 401) {
        return revocation === undefined || one.doneAtMs < revocation.fromMs
          ? [`${inWords(one)}, with a key that is active`]
          : [];
      }
      const isAfter = revocation !== undefined && one.sentAtMs > revocation.returnedAtMs;
      const isExcused = status === 503 || status === 429 || status === 413;
      return isAfter && !isExcused
        ? [`${inWords(one)}, with a key revoked at ${seconds(revocation.returnedAtMs)}`]
        : [];
    });
    const late = tables.events.flatMap(({ eventId, keyId, receivedAtMs }) => {
      const revocation = when.get(keyId);
      return revocation !== undefined && receivedAtMs > revocation.databaseMs
        ? [
          `${eventId} was accepted ${
            Math.round(receivedAtMs - revocation.databaseMs)
          } ms after its key had been revoked`,
        ]
        : [];
    });
    return [...wrong, ...late];
  },
};

/** SPEC, Lead acknowledgement: the source is the key's label. */
export const sourceIsLabel: Rule = {
  name: "source",
  says: "the source of an acknowledgement is the label of the key that posted",
  broken: ({ asked, keys }) => {
    const labels = new Map(keys.map(({ id, label }) => [id, label]));
    return asked.flatMap((one) => {
      if (one.what !== "lead" || !isPost(one) || one.answer === null || one.answer.status > 202) return [];
      const { source } = membersOf(one.answer);
      return source === labels.get(one.keyId) ? [] : [`${inWords(one)}, source ${source}`];
    });
  },
};
