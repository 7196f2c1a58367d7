/**
 * The limits that this node shares with others, and what it has to tell and to ask for. Time is passed in. This module is
 * browser compatible.
 *
 * How a limit is shared by N nodes (processes that serve it, on however many machines):
 *
 * - Who is there: the beats, which each process makes anyway, count the nodes and hand out the secret under which keys are
 *   named in the store. A node alone asks for nothing more, and counts as {@linkcode TokenBucketLimiter} does.
 * - A key that is hardly used is counted where it is used (`share.ts`). One that is used more is *leased* (`lease.ts`): now
 *   and then, in one statement for all keys that are due, a node tells what it has spent and is told what it may spend until
 *   it asks again. The bucket in the store is the truth (`sql/functions/lease_limits.sql`); a request is decided from memory.
 * - Nothing has to be given back: what a node holds is void after a second, and when it asks again. So a node that dies
 *   takes nothing along for longer, and what it had spent and not told is what it was asked for in 100 ms.
 * - A lease that is not used is let go, and asked for again when it is used. Until that is answered the node has what is left
 *   of the minute's limit should another node have leased a whole burst, as far as it knows (`resumedTokens`); one that was
 *   last asked for more at once is renewed until that would be enough, for a minute at most.
 * - Without an answer for a second a node has an equal share of burst and rate, and tells what it spent of it later. When it
 *   is answered again it gets little for a moment: the others may not have told yet what they spent.
 *
 * What was found, in simulated minutes (`test/limiter/leases.test.ts`) of 701 requests of a key and of 1,400 of a customer,
 * on four nodes: between 0.8 % less and 1.4 % more than one node allows, however requests are spread, also while nodes
 * come, die and are cut off, the store is away for 2 or 20 s, or has forgotten all; and nobody who stays at his rate is
 * refused anything. Where 2 % do not hold:
 *
 * - Few tokens: each node may hold one that nobody asks it for, and allow one that nobody has left. Of the 151 of an
 *   address that is 2 % on four nodes, and 5 % on eight.
 * - In less than a minute. A burst at all nodes in the same millisecond is allowed by each, and earned before anything
 *   else is allowed. And a burst at a node that has hardly any share (the key was used elsewhere in the last minute, and not
 *   here) gets four requests of a key at once, and what there is in 50 to 250 ms: on four nodes that were used in turns, 25
 *   of 101 at once.
 * - A store that answers each statement after more than a second: 4.4 % more.
 *
 * Rejected, with the same measure: each node for itself, four times as much. An equal share always, 213 of 701 at one node.
 * The shares of a leased key by demand alone, or equal: of two bursts of 101 within a second at one of four nodes that were
 * used in turns, 81 and 45 are allowed, and 63 so; a node that is used seldom keeps something this way. To take back what
 * is owed when a node has been cut off and returns, without what the bucket has spilled meanwhile: 12 % more after 20 s. To
 * renew each lease for a minute: 122,880 questions after two requests each of 600 addresses; now 600. To resume with an equal
 * part of what was left and earned since a pause: 725 of 701 when others had used it until later than was told.
 *
 * @module
 */

import type { Seed } from "./keyed_hash.ts";
import type { Ask, Grant, Lease } from "./lease.ts";
import { LeasedLimiter } from "./leased_limiter.ts";
import type { Limiter } from "./token_bucket.ts";

/** Questions that are asked together. */
export interface Asked {
  readonly asks: readonly Ask[];
  readonly sentAtMs: number;
}

// Of one limiter at a time, so that one whose keys strangers choose leaves room for the others.
const asksMax = 128;
// What is due this soon is asked for with what is due now: a statement costs more than a key in it, and keys in use come to be due
// together (16 keys: 4 statements a second instead of 19). Chosen: less than half of the time after which a lease is renewed.
const togetherMs = 100;
// Keys that others have leased: how many are known, how long they may be in use after it was said, which is every 5 s, and how
// long it is remembered after that: a minute, of which nobody knows what they have spent.
const elsewhereMax = 8_192;
const elsewhereMs = 6_000;
const rememberedMs = 60_000;

interface Member {
  /** Of the nodes: those that serve this share the limit. */
  readonly surface: string;
  readonly limiter: LeasedLimiter;
  /** Tells its keys from those of the others. */
  readonly salt: number;
}

/** All shared limits of a node. */
export class Leases {
  readonly #newSeed: () => Seed;
  readonly #members: Member[] = [];
  /** Until when a key is used elsewhere. */
  readonly #elsewhere = new Map<number, number>();
  #seed: Seed | null = null;
  #nodes: Readonly<Record<string, number>> = {};
  #asked: readonly Lease[] = [];
  #onNeed: () => void = () => {};

  /** `newSeed` makes a secret seed of this process alone. */
  constructor(newSeed: () => Seed) {
    this.#newSeed = newSeed;
  }

  /** From now on, `onNeed` is called when a key is to be leased at once. */
  react(onNeed: () => void): void {
    this.#onNeed = onNeed;
  }

  /** Makes the limiter `name` of a surface; every node makes it under the same two names. */
  limiter(surface: string, name: string): Limiter {
    const limiter = new LeasedLimiter({
      newSeed: this.#newSeed,
      usedElsewhereUntilMs: (hash) => this.#elsewhere.get(hash) ?? -Infinity,
      onNeed: () => this.#onNeed(),
    });
    const member = { surface, limiter, salt: saltOf(`${surface} ${name}`) };
    this.#members.push(member);
    if (this.#seed !== null) this.#share(member, this.#seed);
    return limiter;
  }

  /** The nodes that serve what most of them serve, this one included. */
  get nodes(): number {
    return Math.max(1, ...this.#members.map(({ limiter }) => limiter.nodes));
  }

  /** The keys that are leased, and of these those that take an equal share because nobody answers. */
  get figures(): { readonly leased: number; readonly alone: number } {
    const leases = this.#members.flatMap(({ limiter }) => [...limiter.leases.values()]);
    return { leased: leases.length, alone: leases.filter(({ isAlone }) => isAlone).length };
  }

  /** There are so many nodes for each surface. `seed` is the same for all of them, and secret. */
  met(nodes: Readonly<Record<string, number>>, seed: Seed): void {
    const isNew = this.#seed === null || this.#seed[0] !== seed[0] || this.#seed[1] !== seed[1];
    this.#seed = seed;
    this.#nodes = nodes;
    for (const member of this.#members) this.#share(member, isNew ? seed : null);
  }

  #share({ surface, limiter, salt }: Member, seed: Seed | null): void {
    limiter.share(this.#nodes[surface] ?? 1, seed === null ? null : [seed[0], seed[1] ^ salt]);
  }

  /** What is to be asked now. The answer is due before the next question. */
  ask(nowMs: number): Asked {
    for (const { limiter } of this.#members) limiter.sweep(nowMs);
    const shared = this.#members.map(({ limiter }) => limiter).filter(({ nodes }) => nodes > 1);
    const isTime = shared.some(({ leases }) => [...leases.values()].some((lease) => lease.isDue(nowMs)));
    this.#asked = isTime ? shared.flatMap((limiter) => takeTurns(limiter, nowMs)) : [];
    return { asks: this.#asked.map((lease) => lease.ask(nowMs)), sentAtMs: nowMs };
  }

  /** The answer to the last question. */
  answered({ asks, sentAtMs }: Asked, grants: readonly Grant[], nowMs: number): void {
    const byHash = new Map(grants.map((grant) => [grant.hash, grant]));
    for (const [index, lease] of this.#asked.entries()) {
      const grant = byHash.get(lease.hash);
      if (grant === undefined) lease.failed(nowMs);
      else lease.granted(asks[index] as Ask, grant, sentAtMs, nowMs);
    }
    this.#asked = [];
  }

  /** There is none: whether the store has heard the question is not known. */
  unanswered(nowMs: number): void {
    for (const lease of this.#asked) lease.failed(nowMs);
    this.#asked = [];
    for (const { limiter } of this.#members) {
      for (const lease of limiter.leases.values()) lease.unanswered(nowMs);
    }
  }

  /** These keys have been leased by somebody. */
  leasedElsewhere(hashes: readonly number[], nowMs: number): void {
    for (const hash of hashes) {
      this.#elsewhere.delete(hash);
      this.#elsewhere.set(hash, nowMs + elsewhereMs);
      for (const { limiter } of this.#members) limiter.leases.get(hash)?.usedElsewhere(nowMs + elsewhereMs);
    }
    for (const [hash, untilMs] of this.#elsewhere) {
      if (untilMs + rememberedMs > nowMs && this.#elsewhere.size <= elsewhereMax) break;
      this.#elsewhere.delete(hash);
    }
  }
}

/** The leases that are asked for now, those that are due first; they go behind those whose turn it was not. */
function takeTurns({ leases }: LeasedLimiter, nowMs: number): Lease[] {
  const all = [...leases.values()];
  const due = all.filter((lease) => lease.isDue(nowMs));
  const soon = all.filter((lease) => !lease.isDue(nowMs) && lease.isDue(nowMs + togetherMs));
  const asked = [...due, ...soon].slice(0, asksMax);
  for (const lease of asked) {
    leases.delete(lease.hash);
    leases.set(lease.hash, lease);
  }
  return asked;
}

/** FNV-1a: what it tells apart is known when the program is written. */
function saltOf(name: string): number {
  let salt = 0x811c_9dc5;
  for (let at = 0; at < name.length; at += 1) salt = Math.imul(salt ^ name.charCodeAt(at), 0x0100_0193);
  return salt;
}
