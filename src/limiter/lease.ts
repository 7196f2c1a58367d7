/**
 * What a node holds of one key's bucket. Time is passed in. This module is browser compatible.
 *
 * @module
 */

import { limits, type Rate } from "../contract/limits.ts";
import { equalRate, resumedTokens, unleasedTokens } from "./share.ts";
import { type Allowance, secondsToEarn, unitsPerToken } from "./token_bucket.ts";

/** What a node tells of a key when it asks for more. Tokens may be broken; they only grow. */
export interface Ask {
  /** Names the key, the same on every node. */
  readonly hash: number;
  readonly rate: Rate;
  readonly nodes: number;
  /** Tokens that it may have without a lease. */
  readonly unleased: number;
  /** Tokens that it has spent, counted from anywhere. */
  readonly spent: number;
  /** Of these, what an answer has confirmed. */
  readonly confirmed: number;
  /** Tokens that are owed besides the unconfirmed ones, as far as it knows. */
  readonly owed: number;
  /** Requests since it last asked, whether they were allowed or not. */
  readonly wanted: number;
  /** Whether what it held was void, so that it has taken an equal share. */
  readonly isCutOff: boolean;
}

/** What it is told. */
export interface Grant {
  readonly hash: number;
  /** Whole tokens that it may spend before it asks again; those of before are void. */
  readonly held: number;
  /** What is left in the bucket, those held by anybody included; negative when more was spent than there was. */
  readonly left: number;
}

/**
 * How long a grant counts, from the question on; in the store from the answer on, so that a token that is given to
 * another node is held by nobody. It is also how long a node without an answer waits until it takes an equal share.
 *
 * Chosen: a second, in which a limit earns less than 2 % of what it allows in a minute.
 */
export const leaseMs = 1_000;
/**
 * A lease that is hardly used is renewed after this long: what the others need is given back in this time. One that is not
 * used at all is let go as soon as this node may have as much at once without it as it was last asked for at once.
 */
export const renewMs = 250;
// One of which half is spent, after this long: bounds the statements of a busy key.
const askPauseMs = 100;
// So long after a question that nobody answered, the others may not have told yet what they spent meanwhile: each asks again
// after 250 ms, and may wait for an answer that never comes.
const settleMs = leaseMs + 2 * renewMs;
// What nobody has asked for this long is leased no more.
const minuteMs = 60_000;
// Requests are at once when they come within about this time.
const onceMs = 1_000;

/** One key's tokens at this node. */
export class Lease {
  readonly hash: number;
  readonly key: string;
  #rate: Rate;
  #nodes: number;
  #spent: number;
  #confirmed: number;
  #wanted = 0;
  #held: number;
  #granted: number;
  #left: number;
  #leftAtMs: number;
  /** Until then what is held counts; from then on it earns as an equal share does. */
  #lastsUntilMs: number;
  #isAlone = false;
  #isKnown = false;
  #isResumed = false;
  /** Until then others may have spent what was left. */
  #usedElsewhereUntilMs: number;
  /** Requests that came at once when it was last used, whether they were allowed or not. */
  #atOnce = 0;
  /** What was spent when the minute began that is counted now, and a minute before it. */
  #spentAtMinute: number;
  #spentBefore: number;
  #minuteAtMs: number;
  #usedAtMs: number;
  #dueAtMs: number;
  #soonAtMs: number;
  #settlesUntilMs = -Infinity;

  /**
   * One that nobody has granted yet: `owed` was spent before, `held` may be spent until there is an answer. What is told
   * begins at `base`: no less than what this node has ever told of the key.
   */
  constructor(
    { hash, key, rate, nodes, base, owed, held, usedElsewhereUntilMs }: {
      hash: number;
      key: string;
      rate: Rate;
      nodes: number;
      base: number;
      owed: number;
      held: number;
      usedElsewhereUntilMs: number;
    },
    nowMs: number,
  ) {
    this.hash = hash;
    this.key = key;
    this.#rate = rate;
    this.#nodes = nodes;
    this.#confirmed = this.#spentAtMinute = this.#spentBefore = base;
    this.#minuteAtMs = nowMs;
    this.#spent = base + owed;
    this.#held = held;
    this.#granted = held;
    this.#left = held;
    this.#leftAtMs = nowMs;
    this.#usedElsewhereUntilMs = usedElsewhereUntilMs;
    this.#lastsUntilMs = nowMs + leaseMs;
    this.#usedAtMs = nowMs;
    this.#dueAtMs = nowMs;
    this.#soonAtMs = nowMs;
  }

  /** Whether it should be asked for: not while it is, and not when it was let go. */
  isDue(nowMs: number): boolean {
    if (nowMs < this.#dueAtMs) return false;
    return !this.#isQuiet ||
      nowMs < this.#usedAtMs + minuteMs && this.#resumed(nowMs) < Math.round(this.#atOnce);
  }

  /** The limit that it was last used with. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Whether there is nothing to tell or to want, and no answer is awaited. */
  get #isQuiet(): boolean {
    return this.#wanted === 0 && this.#spent === this.#confirmed && this.#dueAtMs < Infinity;
  }

  /** What is told of it so far. */
  get spent(): number {
    return this.#spent;
  }

  /** Whether it takes an equal share, because nobody has answered for long. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** A question was not answered, of whichever key: what others have spent or leased meanwhile is not known. */
  unanswered(nowMs: number): void {
    this.#settlesUntilMs = nowMs + settleMs;
    this.usedElsewhere(nowMs);
  }

  /** Others may use it until then: what they leave is not known. */
  usedElsewhere(untilMs: number): void {
    this.#usedElsewhereUntilMs = Math.max(this.#usedElsewhereUntilMs, untilMs);
  }

  /** Asks for one request. */
  spend(rate: Rate, nodes: number, nowMs: number): Allowance {
    this.#rate = rate;
    this.#nodes = nodes;
    this.#countMinute(nowMs);
    if (this.#isQuiet && !this.#isAlone && nowMs >= this.#lastsUntilMs) {
      this.#held = this.#granted = this.#resumed(nowMs);
      this.#isResumed = true;
      this.#lastsUntilMs = nowMs + leaseMs;
    }
    this.#atOnce *= Math.exp(-Math.max(0, nowMs - this.#usedAtMs) / onceMs);
    this.#usedAtMs = nowMs;
    this.#wanted += 1;
    this.#atOnce = Math.min(rate.burst, this.#atOnce + 1);
    this.#earn(nowMs);
    const allowed = this.#held >= 1;
    if (allowed) {
      this.#held -= 1;
      this.#spent += 1;
      this.#left -= 1;
    }
    if (this.#held < Math.max(1, this.#granted / 2)) this.#dueAtMs = Math.min(this.#dueAtMs, this.#soonAtMs);
    return this.#tell(allowed, nowMs);
  }

  /** What the key owes, as far as this node knows. */
  owed(nowMs: number): number {
    return Math.max(0, this.#rate.burst - this.#leftNow(nowMs));
  }

  /** Whether nobody has asked for long, and nothing is owed. */
  isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >
      Math.max(minuteMs, this.#rate.burst * unitsPerToken / this.#rate.perMinute);
  }

  /** What to tell the store; then it waits for {@linkcode granted} or {@linkcode failed}. */
  ask(nowMs: number): Ask {
    const wanted = this.#wanted;
    this.#wanted = 0;
    this.#dueAtMs = this.#soonAtMs = Infinity;
    return {
      hash: this.hash,
      rate: this.#rate,
      nodes: this.#nodes,
      unleased: unleasedTokens(this.#rate, this.#nodes),
      spent: this.#spent,
      confirmed: this.#confirmed,
      owed: this.#isKnown ? Math.max(0, this.owed(nowMs) - (this.#spent - this.#confirmed)) : 0,
      wanted,
      isCutOff: nowMs >= this.#lastsUntilMs,
    };
  }

  /** The answer to an `ask` that was sent at `sentAtMs`. One that comes too late confirms what was told, no more. */
  granted(ask: Ask, { held, left }: Grant, sentAtMs: number, nowMs: number): void {
    this.#confirmed = ask.spent;
    const earnsMs = (1 - left) * unitsPerToken / this.#rate.perMinute;
    const isSettling = nowMs < this.#settlesUntilMs;
    const pauseMs = isSettling ? renewMs : askPauseMs;
    this.#soonAtMs = sentAtMs + Math.min(renewMs, Math.max(pauseMs, earnsMs));
    this.#dueAtMs = sentAtMs + renewMs;
    if (nowMs >= sentAtMs + leaseMs) {
      this.#wanted = Math.max(1, this.#wanted);
      return;
    }
    const spentSince = this.#spent - ask.spent;
    this.#isAlone = false;
    this.#isKnown = true;
    this.#isResumed = false;
    this.#lastsUntilMs = sentAtMs + leaseMs;
    this.#granted = isSettling ? Math.min(held, ask.unleased) : held;
    this.#held = this.#granted - spentSince;
    this.#left = left - spentSince;
    this.#leftAtMs = nowMs;
  }

  /** Nobody has answered; it is asked again. */
  failed(nowMs: number): void {
    this.#wanted = Math.max(1, this.#wanted);
    this.#dueAtMs = this.#soonAtMs = nowMs;
  }

  /** What it has when it was let go. */
  #resumed(nowMs: number): number {
    const isKnown = this.#usedElsewhereUntilMs <= this.#leftAtMs;
    const sinceMs = isKnown ? this.#leftAtMs : Math.min(nowMs, this.#usedElsewhereUntilMs);
    const earned = (nowMs - sinceMs) * this.#rate.perMinute / unitsPerToken;
    return resumedTokens(this.#rate, this.#nodes, {
      unspent: (isKnown ? this.#left : 0) + earned,
      spent: nowMs < this.#usedElsewhereUntilMs + minuteMs ? Infinity : this.#spent - this.#spentBefore,
    });
  }

  // What is counted for the last minute is of one to two.
  #countMinute(nowMs: number): void {
    const minutes = Math.floor((nowMs - this.#minuteAtMs) / minuteMs);
    if (minutes < 1) return;
    this.#spentBefore = this.#spentAtMinute;
    this.#spentAtMinute = this.#spent;
    this.#minuteAtMs += minutes * minuteMs;
  }

  #earn(nowMs: number): void {
    if (nowMs < this.#lastsUntilMs) return;
    const { perMinute, burst } = equalRate(this.#rate, this.#nodes);
    if (!this.#isAlone) {
      this.#isAlone = true;
      // What it was not used for was given back, so it begins with its part of what is left.
      if (this.#isResumed) this.#held = Math.max(this.#held, this.#leftNow(nowMs) / this.#nodes);
      this.#held = Math.min(this.#held, burst);
    }
    const earned = (nowMs - this.#lastsUntilMs) * perMinute / unitsPerToken;
    this.#held = Math.min(burst, this.#held + earned);
    this.#lastsUntilMs = nowMs;
  }

  #leftNow(nowMs: number): number {
    const earned = (nowMs - this.#leftAtMs) * this.#rate.perMinute / unitsPerToken;
    return Math.min(this.#rate.burst, this.#left + earned);
  }

  // What others have spent since the last answer it does not know: at least this many may be sent here.
  #tell(allowed: boolean, nowMs: number): Allowance {
    const left = this.#isAlone ? this.#held : this.#leftNow(nowMs);
    const rate = this.#isAlone ? equalRate(this.#rate, this.#nodes) : this.#rate;
    return {
      allowed,
      remaining: Math.max(0, Math.floor(this.#held)),
      retryAfterSeconds: Math.max(limits.retryAfterSeconds, secondsToEarn((1 - left) * unitsPerToken, rate)),
      resetSeconds: secondsToEarn((rate.burst - left) * unitsPerToken, rate),
    };
  }
}
