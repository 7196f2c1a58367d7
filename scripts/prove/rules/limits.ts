/**
 * Whom the limits refuse.
 *
 * @module
 */

import type { Asked } from "../history.ts";
import { inWords, type Rule, seconds } from "./rule.ts";

/** The published limits, a burst and its refill. */
const addressLimit = { perMinute: 120, burst: 31 };
/** Above the sum: what refills while requests are on their way, and requests in the same millisecond. */
const slack = 1.05;

/** SPEC, Limits. */
export const limitsHold: Rule = {
  name: "limits",
  says: "429 is said above the limits, and only there",
  broken: ({ asked, keys, lives }) => {
    const found: string[] = [];
    const limited = new Map(keys.flatMap((key) => key.limit === null ? [] : [[key.id, key.limit] as const]));
    const groups = Map.groupBy(
      asked.filter(isCounted),
      (one) =>
        one.address.startsWith("127.200.")
          ? `address ${one.address}`
          : limited.has(one.keyId)
          ? `key ${one.keyId}`
          : "",
    );
    for (const [name, all] of groups) {
      const refused = all.filter(({ answer }) => answer?.status === 429);
      if (name === "") {
        found.push(...refused.map((one) => `${inWords(one)}, far below its limits`));
        continue;
      }
      const limit = name.startsWith("key")
        ? limited.get(Number(name.slice(4))) ?? addressLimit
        : addressLimit;
      found.push(...tooMany(name, all, { limit, lives }), ...tooEarly(refused, all, limit));
    }
    return found;
  },
};

const isCounted = ({ what, answer }: Asked) =>
  answer !== null && what !== "cut_short" && answer.status !== 503;

interface Limit {
  readonly perMinute: number;
  readonly burst: number;
}

/** Each life of a process begins with a full bucket. */
function tooMany(
  name: string,
  all: readonly Asked[],
  { limit, lives }: {
    readonly limit: Limit;
    readonly lives: readonly { readonly node: number; readonly atMs: number }[];
  },
): string[] {
  const passed = all.filter(({ answer }) => answer?.status !== 429).toSorted((a, b) =>
    a.sentAtMs - b.sentAtMs
  );
  const found: string[] = [];
  for (let first = 0; first < passed.length; first += 1) {
    // Bursts are apart: the count begins with each.
    if (first > 0 && (passed[first] as Asked).sentAtMs - (passed[first - 1] as Asked).sentAtMs < 1_000) {
      continue;
    }
    const begin = (passed[first] as Asked).sentAtMs;
    const inWindow = passed.slice(first).filter(({ sentAtMs }) => sentAtMs - begin < 10_000);
    const end = Math.max(...inWindow.map(({ doneAtMs }) => doneAtMs));
    const nodes = new Set(inWindow.map(({ node }) => node));
    const buckets = [...nodes].reduce(
      (sum, node) =>
        sum + 1 + lives.filter((life) => life.node === node && life.atMs > begin && life.atMs < end).length,
      0,
    );
    const earned = nodes.size * limit.perMinute * (end - begin) / 60_000;
    const most = Math.ceil((buckets * limit.burst + earned) * slack);
    if (inWindow.length > most) {
      found.push(`${name}: ${inWindow.length} passed within ${seconds(end - begin)}, at most ${most} may`);
    }
  }
  return found;
}

/** Below the half of a burst nobody is to be refused. */
function tooEarly(refused: readonly Asked[], all: readonly Asked[], { burst }: Limit): string[] {
  return refused.flatMap((one) => {
    const before = all.filter(({ sentAtMs }) =>
      sentAtMs <= one.doneAtMs && sentAtMs > one.doneAtMs - 60_000
    ).length;
    return before < burst / 2 ? [`${inWords(one)}, after ${before} requests in a minute`] : [];
  });
}
