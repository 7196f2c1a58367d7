/**
 * Several nodes that share a limit, a store that answers late, and requests: all in simulated time.
 *
 * @module
 */

import type { Rate } from "../../../src/contract/limits.ts";
import { type Asked, Leases } from "../../../src/limiter/leases.ts";
import type { Limiter } from "../../../src/limiter/token_bucket.ts";
import { LeaseStore } from "./lease_store.ts";

/** A request of one client. */
export interface Request {
  readonly atMs: number;
  readonly node: number;
  readonly key?: string;
}

/** What is simulated. */
export interface ClusterOptions {
  readonly nodes: number;
  readonly rate: Rate;
  /** In the order of their times. */
  readonly requests: readonly Request[];
  /** How long a statement sent at a time takes; `Infinity`: it is lost on its way, and its sender waits for a second. */
  readonly latencyMs?: (atMs: number, node: number) => number;
  /** When a node joins and when it dies; it is there all the time when left out. */
  readonly lives?: readonly (readonly [number, number])[];
  /** When the store forgets everything. */
  readonly forgetsAtMs?: readonly number[];
}

/** What became of a request. */
export interface Outcome extends Request {
  readonly allowed: boolean;
  readonly remaining: number;
}

const paceMs = 50;
const tellMs = 500;
const beatMs = 500;
const goneMs = 3_000;
const deadlineMs = 1_000;

class Node {
  readonly leases: Leases;
  readonly limiter: Limiter;
  readonly name: string;
  isAsking = false;
  startedAtMs = -Infinity;
  toldAtMs = -Infinity;
  isNeeded = false;

  constructor(index: number) {
    this.name = String(index);
    this.leases = new Leases(() => [index + 1, 7]);
    this.leases.react(() => this.isNeeded = true);
    this.limiter = this.leases.limiter("intake", "key");
  }
}

/** Runs it all, and says what became of each request, and how many statements there were. */
export function simulate(options: ClusterOptions): { outcomes: Outcome[]; statements: number } {
  const { rate, requests, latencyMs = () => 4, forgetsAtMs = [] } = options;
  const lives = options.lives ?? Array.from({ length: options.nodes }, () => [-Infinity, Infinity] as const);
  const store = new LeaseStore();
  const nodes = lives.map((_, index) => new Node(index));
  const agenda = new Agenda();
  const outcomes: Outcome[] = [];
  let statements = 0;
  const isAlive = (node: Node, nowMs: number) => {
    const [from, to] = lives[nodes.indexOf(node)] as readonly [number, number];
    return from <= nowMs && nowMs < to;
  };

  const beat = (node: Node, nowMs: number) => {
    if (!isAlive(node, nowMs)) return;
    const known = lives.filter(([from, to]) => from <= nowMs && nowMs < to + goneMs).length;
    node.leases.met({ intake: known }, [3, 4]);
    agenda.add(nowMs + beatMs, (atMs) => beat(node, atMs));
  };
  const ask = (node: Node, nowMs: number) => {
    if (!isAlive(node, nowMs) || node.isAsking || nowMs < node.startedAtMs + paceMs) return;
    node.startedAtMs = nowMs;
    const asked: Asked = node.leases.ask(nowMs);
    const isToTell = node.leases.nodes > 1 && nowMs - node.toldAtMs >= tellMs;
    if (asked.asks.length === 0 && !isToTell) return;
    statements += 1;
    node.isAsking = true;
    const tookMs = latencyMs(nowMs, Number(node.name));
    const sinceMs = isToTell ? Math.min(nowMs - node.toldAtMs, 60_000) + tellMs : null;
    if (tookMs > deadlineMs) {
      // It may take effect, later than anybody waits for it.
      if (tookMs < Infinity) {
        agenda.add(nowMs + tookMs, (atMs) => store.lease(node.name, asked.asks, atMs, null));
      }
      agenda.add(nowMs + deadlineMs, (atMs) => {
        node.isAsking = false;
        node.leases.unanswered(atMs);
      });
      return;
    }
    agenda.add(nowMs + tookMs / 2, (atMs) => {
      const [grants, told] = store.lease(node.name, asked.asks, atMs, sinceMs);
      agenda.add(nowMs + tookMs, (answeredAtMs) => {
        node.isAsking = false;
        node.leases.answered(asked, grants, answeredAtMs);
        if (isToTell) node.leases.leasedElsewhere(told, answeredAtMs);
        if (isToTell) node.toldAtMs = nowMs;
      });
    });
  };
  const tick = (node: Node, nowMs: number) => {
    ask(node, nowMs);
    agenda.add(nowMs + paceMs, (atMs) => tick(node, atMs));
  };

  for (const [index, node] of nodes.entries()) {
    const from = Math.max(0, (lives[index] as readonly [number, number])[0]);
    agenda.add(from, (atMs) => beat(node, atMs));
    // They do not ask at the same time.
    agenda.add(from + 1 + index * paceMs / nodes.length, (atMs) => tick(node, atMs));
  }
  for (const atMs of forgetsAtMs) agenda.add(atMs, () => store.forget());
  for (const request of requests) {
    agenda.runTo(request.atMs);
    const node = nodes[request.node] as Node;
    if (!isAlive(node, request.atMs)) continue;
    const { allowed, remaining } = node.limiter.allow(request.key ?? "a", rate, request.atMs);
    outcomes.push({ ...request, allowed, remaining });
    if (!node.isNeeded) continue;
    node.isNeeded = false;
    agenda.add(Math.max(request.atMs + 1, node.startedAtMs + paceMs), (atMs) => ask(node, atMs));
  }
  return { outcomes, statements };
}

/** What is to be done, in the order of its time. */
class Agenda {
  readonly #entries: { atMs: number; run: (atMs: number) => void }[] = [];

  add(atMs: number, run: (atMs: number) => void): void {
    let at = this.#entries.length;
    while (at > 0 && (this.#entries[at - 1] as { atMs: number }).atMs > atMs) at -= 1;
    this.#entries.splice(at, 0, { atMs, run });
  }

  /** Does what is due until then, and what that adds. */
  runTo(nowMs: number): void {
    for (let next = this.#entries[0]; next !== undefined && next.atMs <= nowMs; next = this.#entries[0]) {
      this.#entries.shift();
      next.run(next.atMs);
    }
  }
}

/** The most requests that were allowed in any minute. */
export function mostInAMinute(outcomes: readonly Outcome[]): number {
  const allowed = outcomes.filter((outcome) => outcome.allowed).map(({ atMs }) => atMs);
  let most = 0;
  for (let first = 0, last = 0; last < allowed.length; last += 1) {
    while ((allowed[first] as number) < (allowed[last] as number) - 60_000) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
