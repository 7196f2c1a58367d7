/** The arithmetic of limits that nodes share, in simulated minutes: the nodes are real, the store is its model. */

import assert from "node:assert/strict";
import test from "node:test";
import process from "node:process";
import fc from "fast-check";
import { limits, type Rate } from "../../src/contract/limits.ts";
import { Leases } from "../../src/limiter/leases.ts";
import { mostInAMinute, type Outcome, type Request, simulate } from "../support/limiter/cluster.ts";

const runs = { numRuns: Number(process.env.FC_RUNS ?? 25) };
const minuteMs = 60_000;
// The nodes have met by then.
const startMs = 4_000;
const rates: Readonly<Record<string, Rate>> = {
  key: limits.keyRate,
  tenant: limits.formsTenantRate,
  "address of forms": limits.formsIpRate,
  address: limits.ipRate,
};

/** 2 % of what a minute allows; of an address that is three requests, and each node may have one of them too many. */
function tolerance({ perMinute, burst }: Rate, nodes: number): number {
  return Math.max(0.02 * (perMinute + burst), nodes);
}

/** `times` the rate for some minutes, evenly in time, at the nodes that `pick` says. */
function load(rate: Rate, times: number, pick: (atMs: number, n: number) => number, minutes = 2): Request[] {
  const gapMs = minuteMs / rate.perMinute / times;
  return Array.from({ length: Math.floor(minutes * minuteMs / gapMs) }, (_, n) => {
    const atMs = startMs + n * gapMs;
    return { atMs, node: pick(atMs, n) };
  });
}

/** So many requests at each node in one millisecond. */
function burst(nodes: number, each: number, atMs: number): Request[] {
  return Array.from({ length: nodes * each }, (_, n) => ({ atMs, node: n % nodes }));
}

function merge(...parts: readonly (readonly Request[])[]): Request[] {
  return parts.flat().sort((one, other) => one.atMs - other.atMs);
}

function allowedBetween(outcomes: readonly Outcome[], fromMs: number, toMs: number): number {
  return outcomes.filter(({ allowed, atMs }) => allowed && atMs >= fromMs && atMs < toMs).length;
}

/** What one node would do that gets all of it. */
function onOneNode(rate: Rate, requests: readonly Request[]): Outcome[] {
  return simulate({ nodes: 1, rate, requests: requests.map(({ atMs }) => ({ atMs, node: 0 })) }).outcomes;
}

/**
 * Holds each of the first two minutes to what one node allows, but for a part `less` of it, and any minute to the limit.
 */
function holds(rate: Rate, nodes: number, outcomes: readonly Outcome[], what: string, less = 0): void {
  const wrong = tolerance(rate, nodes);
  const alone = onOneNode(rate, outcomes);
  for (const fromMs of [startMs, startMs + minuteMs]) {
    const [are, would] = [outcomes, alone].map((all) => allowedBetween(all, fromMs, fromMs + minuteMs));
    const missing = Number(would) - Number(are);
    assert.ok(
      -missing <= wrong && missing <= wrong + less * Number(would),
      `${what}: ${are} allowed, ${would} by one node`,
    );
  }
  const most = mostInAMinute(outcomes);
  assert.ok(most <= rate.perMinute + rate.burst + wrong, `${what}: ${most} in a minute`);
}

/** Where requests go that are more than a limit allows. */
const spreads: Readonly<Record<string, (nodes: number, rate: Rate) => Request[]>> = {
  "all at one": (_, rate) => merge(burst(1, 2 * rate.burst, startMs), load(rate, 4, () => 0)),
  "in turns": (nodes, rate) => load(rate, 8, (_, n) => n % nodes),
  "all at each in the same millisecond": (nodes, rate) =>
    merge(burst(nodes, 2 * rate.burst, startMs), load(rate, 4, (_, n) => n % nodes)),
  "another one each second": (nodes, rate) => load(rate, 4, (atMs) => Math.floor(atMs / 1_000) % nodes),
  "one at its full rate, the others at a trickle": (nodes, rate) =>
    merge(load(rate, 4, () => 0), load(rate, 0.25, (_, n) => 1 + n % (nodes - 1))),
};

for (const [what, rate] of Object.entries(rates)) {
  test(`the limit of ${what} holds on two and four nodes as it does on one, however requests are spread`, () => {
    for (const nodes of [2, 4]) {
      for (const [spread, requests] of Object.entries(spreads)) {
        const { outcomes } = simulate({ nodes, rate, requests: requests(nodes, rate) });
        holds(rate, nodes, outcomes, `${nodes} nodes, ${spread}`);
      }
    }
  });

  test(`a burst at each of four nodes after a minute below the limit of ${what} exceeds it in no minute`, () => {
    for (const times of [0.1, 0.19, 0.5, 0.9, 1]) {
      for (const pick of [(_: number, n: number) => n % 4, () => 0]) {
        const requests = merge(
          load(rate, times, pick, 1),
          burst(4, rate.burst, startMs + minuteMs - 100),
          load(rate, 4, (_, n) => n % 4, 2).filter(({ atMs }) => atMs > startMs + minuteMs),
        );
        const most = mostInAMinute(simulate({ nodes: 4, rate, requests }).outcomes);
        const allowed = rate.perMinute + rate.burst + tolerance(rate, 4);
        assert.ok(most <= allowed, `after ${times} of the rate: ${most} in a minute`);
      }
    }
  });

  test(`who stays at the rate of ${what}, spread over four nodes, is refused nothing, and neither is one who comes and goes`, () => {
    const picks = {
      turns: (_: number, n: number) => n % 4,
      second: (ms: number) => Math.floor(ms / 1e3) % 4,
    };
    for (const [spread, pick] of Object.entries({ ...picks, one: () => 2 })) {
      for (const times of [0.05, 0.2, 0.5, 1]) {
        const { outcomes } = simulate({ nodes: 4, rate, requests: load(rate, times, pick) });
        assert.equal(outcomes.filter(({ allowed }) => !allowed).length, 0, `${spread}, ${times} of the rate`);
      }
    }
  });

  test(`a store that is gone for 2 or 20 s leaves each node an equal share of the limit of ${what}, and no second budget after it`, () => {
    for (const lastsMs of [2_000, 20_000]) {
      for (const isStopped of [false, true]) {
        const endsMs = 25_000 + lastsMs;
        // One that was stopped does what it was sent when it goes on.
        const latencyMs = (atMs: number) =>
          atMs < 25_000 || atMs > endsMs ? 4 : isStopped ? endsMs - atMs + 5 : Infinity;
        for (const times of [1, 4]) {
          const requests = load(rate, times, (_, n) => n % 4);
          const { outcomes } = simulate({ nodes: 4, rate, requests, latencyMs });
          const label = `${times} of the rate, ${lastsMs} ms, ${isStopped ? "stopped" : "gone"}`;
          holds(rate, 4, outcomes, label);
          if (times > 1) continue;
          assert.equal(outcomes.filter(({ allowed }) => !allowed).length, 0, label);
        }
      }
    }
  });

  test(`the limit of ${what} holds while one node alone is cut off from the store, while nodes come and go, and when the store has forgotten all`, () => {
    const always = [-Infinity, Infinity] as const;
    const faults: Readonly<Record<string, Partial<Parameters<typeof simulate>[0]>>> = {
      "cut off": { latencyMs: (atMs, node) => node === 1 && atMs > 25_000 && atMs < 55_000 ? Infinity : 4 },
      "die": { lives: [always, [-Infinity, 20_000], [-Infinity, 30_000], always] },
      "all others die": { lives: [always, ...Array.from({ length: 3 }, () => [-Infinity, 20_000] as const)] },
      "join": { lives: [always, always, [20_000, Infinity], [30_000, Infinity]] },
      "join one that was alone": {
        lives: [always, ...Array.from({ length: 3 }, () => [20_000, Infinity] as const)],
      },
      "forgotten": { forgetsAtMs: [30_000] },
    };
    for (const [fault, options] of Object.entries(faults)) {
      for (const times of [1, 4]) {
        const requests = load(rate, times, (_, n) => n % 4);
        const { outcomes } = simulate({ nodes: 4, rate, requests, ...options });
        holds(rate, 4, outcomes, `${fault}, ${times} of the rate`);
        if (times > 1) continue;
        assert.equal(outcomes.filter(({ allowed }) => !allowed).length, 0, fault);
      }
    }
  });
}

test("whatever the spread, the pace, the number of nodes and the store's pace: no minute has more than the limit, and each nine tenths of what one node allows", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(limits.keyRate, limits.formsTenantRate, limits.formsIpRate),
      fc.integer({ min: 2, max: 4 }),
      fc.double({ min: 1.5, max: 8, noNaN: true }),
      fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(1, 50, 1_000, 7_000),
      (rate, nodes, times, picks, latencies, heldMs) => {
        const pick = (atMs: number) => Number(picks[Math.floor(atMs / heldMs) % picks.length]) % nodes;
        let statement = 0;
        const latencyMs = () => Number(latencies[statement++ % latencies.length]);
        const { outcomes } = simulate({ nodes, rate, requests: load(rate, times, pick), latencyMs });
        // Requests that go to one node for seconds, and then all to the next, can leave 3 % of a minute unused.
        holds(rate, nodes, outcomes, "any", 0.1);
      },
    ),
    runs,
  );
});

test("whoever stays at the rate, request by request at any node, is refused nothing while the store answers in 100 ms", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(rates)),
      fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 20 }),
      (rate, picks, latencies) => {
        let statement = 0;
        const requests = load(rate, 1, (_, n) => Number(picks[n % picks.length]), 1);
        const latencyMs = () => Number(latencies[statement++ % latencies.length]);
        const { outcomes } = simulate({ nodes: 4, rate, requests, latencyMs });
        assert.equal(outcomes.filter(({ allowed }) => !allowed).length, 0);
      },
    ),
    runs,
  );
});

test("one node that has leased all of a burst, and others that do not know of it yet, allow no more than a minute has", () => {
  for (const rate of [...Object.values(rates), { perMinute: 6, burst: 90 }]) {
    for (const nodes of [2, 4, 8]) {
      const requests = merge(
        load(rate, 0.5, () => 0, 1),
        burst(1, rate.burst, startMs + 50_001),
        burst(nodes, rate.burst, startMs + 50_001),
      );
      const { outcomes } = simulate({ nodes, rate, requests, latencyMs: () => 100 });
      const most = mostInAMinute(outcomes);
      assert.ok(most <= rate.perMinute + rate.burst + tolerance(rate, nodes), `${most} at ${nodes} nodes`);
      const cold = burst(nodes, rate.burst, startMs);
      const early = simulate({ nodes, rate, requests: merge(burst(1, rate.burst, startMs - 20), cold) });
      const sum = mostInAMinute(early.outcomes);
      assert.ok(sum <= rate.perMinute + rate.burst + tolerance(rate, nodes), `${sum} at ${nodes} cold nodes`);
    }
  }
});

test("when the store is back, what nodes have spent meanwhile is not given to the one that asks first", () => {
  const rate = { perMinute: 6, burst: 90 };
  const goneMs = startMs + 1_000;
  const backMs = startMs + 15_000;
  // Each hears of it a little later than the one before.
  const latencyMs = (atMs: number, node: number) =>
    atMs < goneMs || atMs >= backMs + node * 60 ? 4 : Infinity;
  const each = (fromMs: number, toMs: number, gapMs: number) =>
    Array.from({ length: (toMs - fromMs) / gapMs }, (_, n) => burst(4, 1, fromMs + n * gapMs)).flat();
  const requests = merge(
    each(startMs, goneMs, 200),
    each(goneMs, backMs, 250),
    each(backMs, backMs + 10_000, 10),
  );
  const most = mostInAMinute(simulate({ nodes: 4, rate, requests, latencyMs }).outcomes);
  assert.ok(most <= rate.perMinute + rate.burst + tolerance(rate, 4), String(most));
});

test("a node that leases a key again after it had forgotten it tells all that it spends", () => {
  const pick = (atMs: number) => Math.floor(atMs / 7_000) % 10 === 5 ? 1 : 0;
  const { outcomes } = simulate({ nodes: 2, rate: limits.keyRate, requests: load(limits.keyRate, 4, pick) });
  holds(limits.keyRate, 2, outcomes, "one node now and then");
});

test("a node alone asks for nothing, and neither do two for keys that are hardly used", () => {
  const { keyRate } = limits;
  assert.equal(simulate({ nodes: 1, rate: keyRate, requests: load(keyRate, 8, () => 0) }).statements, 0);
  const lone = simulate({ nodes: 2, rate: keyRate, requests: load(keyRate, 0.05, (_, n) => n % 2) });
  // Each looks twice a second for what the other leases.
  assert.ok(lone.statements < 2 * 2 * 130, String(lone.statements));
});

test("a busy key costs a node no more than ten statements a second, however many requests it has", () => {
  const { keyRate } = limits;
  const few = simulate({ nodes: 4, rate: keyRate, requests: load(keyRate, 10, (_, n) => n % 4) });
  const many = simulate({ nodes: 4, rate: keyRate, requests: load(keyRate, 100, (_, n) => n % 4) });
  assert.ok(few.statements < 4 * 125 * 12, String(few.statements));
  assert.ok(many.statements < 4 * 125 * 12, String(many.statements));
});

/** One node of four, with a limiter whose keys strangers choose. */
function nodeOfFour(onNeed = () => {}) {
  let seeds = 0;
  const leases = new Leases(() => [++seeds, 1]);
  leases.react(onNeed);
  const limiter = leases.limiter("intake", "ip");
  leases.met({ intake: 4 }, [5, 6]);
  return { leases, limiter };
}

test("a flood of addresses that come once asks for nothing; of those that come often, 2,048 at most are leased, and no place in the table keeps anybody from a share of his own", () => {
  let needs = 0;
  const { leases, limiter } = nodeOfFour(() => needs += 1);
  for (let n = 0; n < 20_000; n += 1) limiter.allow(`once ${n}`, limits.ipRate, 0);
  assert.deepEqual([needs, leases.ask(0).asks.length], [0, 0]);
  const burst = (key: string) =>
    Array.from({ length: 31 }, () => limiter.allow(key, limits.ipRate, 10)).filter(({ allowed }) => allowed)
      .length;
  for (let n = 0; n < 4_000; n += 1) assert.equal(burst(`often ${n}`), limits.ipRate.burst, String(n));
  assert.deepEqual(leases.figures, { leased: 2_048, alone: 0 });
  // Neither do those who lose theirs lose a debt with it.
  assert.equal(burst("often 0"), 0);
  const asked = [0, 1].map(() => leases.ask(20).asks.length);
  assert.deepEqual(asked, [128, 128]);
});

test("keys in use are asked for together: sixteen cost a node hardly more statements than one", () => {
  const { leases, limiter } = nodeOfFour();
  const rate = { perMinute: 5_000, burst: 1_000 };
  let statements = 0;
  // Each a request in 50 ms, and the first one at a time of its own.
  for (let nowMs = 0; nowMs < 20_000; nowMs += 1) {
    const key = nowMs % 50;
    if (key < 16 && nowMs > key * 150) limiter.allow(`address ${key}`, rate, nowMs);
    if (key !== 49) continue;
    const asked = leases.ask(nowMs);
    if (asked.asks.length > 0) statements += 1;
    leases.answered(asked, asked.asks.map(({ hash }) => ({ hash, held: 100, left: 400 })), nowMs);
  }
  // Asked for when each is due, they took 280.
  assert.ok(statements < 20 * 5 + 16, String(statements));
});

test("a key that nobody uses costs the store nothing until it is used, and then all that is left of its minute is shared", () => {
  const { leases, limiter } = nodeOfFour();
  for (let n = 0; n < 600; n += 1) {
    for (const atMs of [0, 1]) limiter.allow(`address ${n}`, limits.ipRate, atMs);
  }
  let asks = 0;
  for (let nowMs = 1; nowMs < 50_000; nowMs += 50) {
    const asked = leases.ask(nowMs);
    asks += asked.asks.length;
    leases.answered(asked, asked.asks.map(({ hash }) => ({ hash, held: 7, left: 28 })), nowMs + 4);
  }
  assert.equal(asks, 600);
  const burst = (key: string, atMs: number) =>
    Array.from({ length: 31 }, () => limiter.allow(key, limits.ipRate, atMs)).filter(({ allowed }) => allowed)
      .length;
  assert.equal(burst("address 1", 50_000), limits.ipRate.burst);
  assert.equal(leases.ask(50_001).asks.length, 1);
});

test("bursts at each of four nodes after a pause, at once or soon after one another, exceed the limit in no minute, whatever was used before it", () => {
  for (const [what, rate] of Object.entries(rates)) {
    for (const [times, laterMs] of [[0.1, 0], [0.5, 100], [1, 0], [4, 0], [4, 100], [4, 400]] as const) {
      for (const pauseMs of [1_500, 3_000, 15_000, 40_000]) {
        for (const pick of [(_: number, n: number) => n % 4, () => 0]) {
          const before = load(rate, times, pick, 1).filter(({ atMs }) => atMs < startMs + minuteMs - pauseMs);
          // The first node has leased all that is left before the others are asked.
          const again = [0, 1, 2, 3].flatMap((node) =>
            burst(1, rate.burst, startMs + minuteMs + (node === 0 ? 0 : laterMs))
              .map(({ atMs }) => ({ atMs, node }))
          );
          const first = Array.from({ length: rate.burst }, (_, n) => ({
            ...{ atMs: startMs + minuteMs + 60 + 2 * n, node: 0 },
          }));
          const after = load(rate, 4, (_, n) => n % 4, 2).filter(({ atMs }) => atMs > startMs + minuteMs);
          const { outcomes } = simulate({ nodes: 4, rate, requests: merge(before, again, first, after) });
          const most = mostInAMinute(outcomes);
          const allowed = rate.perMinute + rate.burst + tolerance(rate, 4);
          assert.ok(
            most <= allowed,
            `${what}, ${times} of the rate, ${pauseMs} and ${laterMs} ms: ${most} in a minute`,
          );
        }
      }
    }
  }
});

test("who comes to one of four nodes in bursts, within the limit and with pauses, is refused nothing", () => {
  for (const [what, rate] of Object.entries(rates)) {
    for (const each of [1, 2, 8, 25]) {
      for (const stretched of [1, 2, 5]) {
        const gapMs = Math.max(1_200, stretched * each * minuteMs / rate.perMinute);
        const requests = Array.from({ length: Math.floor(2 * minuteMs / gapMs) }, (_, n) => n)
          .flatMap((n) => burst(1, each, startMs + n * gapMs).map(({ atMs }) => ({ atMs, node: 1 })));
        const { outcomes } = simulate({ nodes: 4, rate, requests });
        const refused = outcomes.filter(({ allowed }) => !allowed).length;
        assert.equal(refused, 0, `${what}, ${each} each ${gapMs} ms`);
      }
    }
  }
});

test("what nobody has asked for in a minute is leased no more", () => {
  const { leases, limiter } = nodeOfFour();
  for (const atMs of [0, 1]) limiter.allow("a", limits.ipRate, atMs);
  assert.equal(leases.ask(60_000).asks.length, 1);
  leases.unanswered(60_000);
  assert.equal(leases.ask(60_002).asks.length, 0);
  assert.equal(leases.figures.leased, 0);
});

test("a key that another node has leased is leased at its first request, and has little until there is an answer", () => {
  const { leases, limiter } = nodeOfFour();
  limiter.allow("a", limits.keyRate, 0);
  limiter.allow("a", limits.keyRate, 0);
  const [ask] = leases.ask(0).asks;
  const other = new Leases(() => [9, 9]);
  const there = other.limiter("intake", "ip");
  // A limiter that is made after the nodes have met shares as well.
  other.met({ intake: 4 }, [5, 6]);
  const late = other.limiter("intake", "key");
  other.leasedElsewhere([Number(ask?.hash)], 100);
  const allowed = Array.from({ length: 20 }, () => there.allow("a", limits.keyRate, 110).allowed);
  assert.equal(allowed.filter(Boolean).length, 4);
  assert.equal(other.ask(111).asks[0]?.hash, ask?.hash);
  // The same text under another limiter is another key.
  late.allow("a", limits.keyRate, 120);
  assert.equal(other.figures.leased, 1);
});

test("what others have leased is forgotten after 66 seconds, and of more than 8,192 keys the oldest", () => {
  const { leases, limiter } = nodeOfFour();
  const hashOf = (key: string) => {
    for (const atMs of [0, 1]) limiter.allow(key, limits.ipRate, atMs);
    return leases.ask(1).asks.at(-1)?.hash ?? 0;
  };
  const hashes = ["a", "b"].map(hashOf);
  const fresh = nodeOfFour();
  const leased = () => fresh.leases.figures.leased;
  fresh.leases.leasedElsewhere(hashes, 0);
  fresh.leases.leasedElsewhere([], 66_000);
  fresh.leases.ask(66_000);
  fresh.limiter.allow("a", limits.ipRate, 66_000);
  assert.equal(leased(), 0);
  fresh.leases.leasedElsewhere(hashes, 140_000);
  fresh.leases.leasedElsewhere(Array.from({ length: 8_191 }, (_, n) => n), 140_000);
  fresh.leases.ask(140_000);
  fresh.limiter.allow("a", limits.ipRate, 140_000);
  assert.equal(leased(), 0);
  fresh.limiter.allow("b", limits.ipRate, 140_000);
  assert.equal(leased(), 1);
});

test("a key without a grant in the answer is asked for again", () => {
  const { leases, limiter } = nodeOfFour();
  for (const atMs of [1, 1]) limiter.allow("a", limits.ipRate, atMs);
  const asked = leases.ask(1);
  leases.answered(asked, [], 5);
  const again = leases.ask(5);
  assert.deepEqual(again.asks.map(({ hash, spent }) => [hash, spent]), [[asked.asks[0]?.hash, 2]]);
});

test("another secret, as after the loss of all the store knew, voids the leases", () => {
  const { leases, limiter } = nodeOfFour();
  for (const atMs of [0, 1]) limiter.allow("a", limits.ipRate, atMs);
  leases.met({ intake: 4 }, [5, 6]);
  assert.equal(leases.figures.leased, 1);
  leases.met({ intake: 4 }, [5, 7]);
  assert.equal(leases.figures.leased, 0);
  // Other processes of a surface that this one does not serve are none of its nodes.
  leases.met({ forms: 3 }, [5, 7]);
  assert.equal(leases.nodes, 1);
});

test("the headers' figures: what this node holds; a wait until the bucket, or this node's share of it, has earned one", () => {
  const { leases, limiter } = nodeOfFour();
  const rate = limits.keyRate;
  for (const atMs of [0, 1]) limiter.allow("a", rate, atMs);
  const asked = leases.ask(1);
  const hash = asked.asks[0]?.hash ?? 0;
  leases.answered(asked, [{ hash, held: 2, left: 50 }], 3);
  const { remaining, resetSeconds } = limiter.allow("a", rate, 4);
  assert.deepEqual([remaining, resetSeconds], [1, 6]);
  leases.answered(leases.ask(300), [{ hash, held: 0, left: -25 }], 303);
  assert.deepEqual(limiter.allow("a", rate, 304), {
    allowed: false,
    remaining: 0,
    retryAfterSeconds: 3,
    resetSeconds: 13,
  });
  // Nobody has answered for more than a second: a quarter of ten a second.
  leases.ask(600);
  leases.unanswered(1_600);
  assert.equal(limiter.allow("a", rate, 1_301).allowed, false);
  assert.deepEqual(leases.figures, { leased: 1, alone: 1 });
  assert.equal(limiter.allow("a", rate, 1_701).allowed, true);
  assert.equal(limiter.allow("a", rate, 1_702).resetSeconds, 11);
  // An answer that comes so late confirms what was told, and the share stays equal.
  leases.answered(leases.ask(1_710), [{ hash, held: 40, left: 40 }], 2_800);
  assert.equal(leases.figures.alone, 1);
});
