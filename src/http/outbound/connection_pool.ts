/**
 * The connections to other hosts. Each belongs to one host name and port, for which the other side has shown its
 * certificate, and goes to one address; it is kept for the next request, the one that was used last first.
 *
 *     waiting ──▶ connecting ──▶ handshake ──▶ settling ──▶ sent ──▶ idle ──▶ sent …
 *     for its turn                                                     └──▶ gone, after its time
 *
 * Chosen: an HTTP/1.1 client of our own, because each request costs the others more. A PUT of a kilobyte over mutual
 * TLS, 64 in flight to one sink, each client a process of its own, in turns of 20,000 requests (21 on Node 24, 5 on Deno
 * 2.9.6, medians; processor time of the client's process):
 *
 * | | Node | Deno |
 * |---|---|---|
 * | this one | 30.6 µs | 26.9 µs |
 * | undici 8.12.4, `dispatch` with a handler | 38.6 µs | 45.8 µs |
 * | undici 8.12.4, `request` and `text()` | 50.6 µs | 68.7 µs |
 * | node:https with an agent | 63.3 µs | 55.6 µs |
 *
 * Chosen: connections are kept, because a look-up and a connection for each of 2,000 webhooks in a burst had 281 of them
 * time out at the name server and took nine times as long.
 *
 * @module
 */

import type { OnReadOpts, Socket } from "node:net";
import { Deadlines, type Timed } from "../deadlines.ts";
import {
  type Answer,
  type Beginning,
  ClientConnection,
  codeOf,
  type Failed,
  type Stage,
} from "./client_connection.ts";
import { FairQueue, type FairQueueOptions } from "./fair_queue.ts";
import type { Response } from "./response_parser.ts";

/** Where a request goes. */
export interface Target {
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Those of the host that may be called, one or more; they are tried in this order. */
  readonly addresses: readonly string[];
}

/** A request. */
export interface OutboundRequest {
  readonly target: Target;
  /** Whose it is. */
  readonly tenant: string;
  /** Head and body. */
  readonly text: string;
  /** From now, its wait for a connection included, to the end of its answer. */
  readonly timeoutMs: number;
  /** Called with each part of an answer that is not whole yet, from its head on; `cut` gives up the rest. */
  readonly onPart?: (soFar: Response, cut: () => void) => void;
}

/** How a pool works. */
export interface PoolOptions extends Beginning, Pick<FairQueueOptions<unknown>, "mayStart"> {
  /** Begins to connect, with this option of the socket or without it; may throw, which fails the request that needs it. */
  readonly connect: (target: Target, address: string, onread: OnReadOpts) => Socket;
  /**
   * A kept connection that the other side closes under a request, before a byte of the answer, says nothing about the
   * request: it is sent once more at once, on a new connection and within the same time. The other side may have read it
   * all the same, so it has to know the repeat. Left out: what fails is not sent again.
   */
  readonly repeatsLost?: true;
}

// Of a request's time: what has found no connection by then would be cut in the midst of its answer.
const waitShare = 3 / 4;
// Time for a connection to one of several addresses before the next one is tried.
const addressTimeoutMs = 2_500;
// Of all hosts together; the one that has been idle for longest goes.
const idleMax = 256;
// How often idle connections are looked at, so that we close them and not the other side.
const sweepMs = 1_000;

interface Pending extends Timed, OutboundRequest {
  readonly host: Host;
  readonly settle: (answer: Answer) => void;
  readonly endsAtMs: number;
  /** Addresses to which a connection was tried. */
  readonly tried: string[];
  connection: ClientConnection | null;
  isStarted: boolean;
  isLate: boolean;
  isRepeat: boolean;
}

/** The connections to one host, and the requests that are on their way to it. */
interface Host {
  readonly key: string;
  readonly open: Set<ClientConnection>;
  /** The one that was used last is the last. */
  readonly idle: ClientConnection[];
  readonly queue: FairQueue<Pending>;
  /** All that have no answer yet. */
  readonly pending: Set<Pending>;
  /** Of several addresses the first may be dead: this one answered. */
  goodAddress: string | null;
}

/** Sends requests over its connections; those that find none free wait as `mayStart` has it. */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** Those with a connection or a request; they go with the last of these. */
  readonly #hosts = new Map<string, Host>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<ClientConnection>();
  readonly #deadlines = new Deadlines<Pending>(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAtMs = Infinity;
  #sweeper: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Sends one request to one of its host's addresses and calls `settle` once; never throws. It is sent exactly once or not
   * at all, except where {@linkcode PoolOptions.repeatsLost} says.
   */
  send(request: OutboundRequest, settle: (answer: Answer) => void): void {
    const host = this.#host(request.target);
    const nowMs = performance.now();
    const pending: Pending = {
      ...request,
      ...{ host, settle, endsAtMs: nowMs + request.timeoutMs, tried: [], connection: null, deadline: null },
      ...{ isStarted: false, isLate: false, isRepeat: false },
    };
    host.pending.add(pending);
    if (this.#isClosed) return this.#cut(pending, "ECANCELED");
    host.queue.add(pending);
    if (!pending.isStarted) this.#deadlines.addAt(pending, nowMs + waitShare * request.timeoutMs);
    this.#watch();
  }

  /**
   * Opens a connection beyond those that there are, which the next request takes: `null`, or why there is none. Sends
   * nothing; never rejects.
   */
  open(target: Target, timeoutMs: number): Promise<Failed | null> {
    return new Promise((resolve) => {
      const address = target.addresses[0] as string;
      const connection = this.#isClosed ? "ECANCELED" : this.#make(this.#host(target), target, { address });
      if (typeof connection === "string") return resolve(failure(connection, "connecting"));
      const timer = setTimeout(() => connection.fail("ETIMEDOUT"), timeoutMs);
      connection.open((failed) => {
        clearTimeout(timer);
        resolve(failed);
      });
    });
  }

  /** Lets all present connections go, each after the request that is under way. */
  retire(): void {
    for (const { open } of this.#hosts.values()) for (const connection of [...open]) connection.retire();
  }

  /** Cuts every connection; what is under way or comes later fails with `ECANCELED`. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#sweeper);
    for (const { pending, open } of this.#hosts.values()) {
      for (const waiting of [...pending].filter(({ isStarted }) => !isStarted)) {
        this.#cut(waiting, "ECANCELED");
      }
      for (const connection of [...open]) connection.fail("ECANCELED");
    }
  }

  #host({ hostname, port }: Target): Host {
    const key = `${hostname}:${port}`;
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    const queue = new FairQueue<Pending>({
      mayStart: this.#options.mayStart,
      start: (pending) => {
        pending.isStarted = true;
        this.#deadlines.remove(pending);
        this.#deadlines.addAt(pending, pending.endsAtMs);
        this.#start(pending);
      },
    });
    const host: Host = { key, open: new Set(), idle: [], queue, pending: new Set(), goodAddress: null };
    this.#hosts.set(key, host);
    return host;
  }

  // A function of its own in each of them, which had it in turn, would be kept by V8 until old objects are collected.
  #settle(pending: Pending, answer: Answer): void {
    const { host } = pending;
    this.#deadlines.remove(pending);
    host.pending.delete(pending);
    host.queue.remove(pending);
    this.#watch();
    this.#forgetEmpty(host);
    pending.settle(answer);
  }

  // One timer for all: one for each request cost more than its parsing.
  #watch(): void {
    const { firstAtMs } = this.#deadlines;
    if (firstAtMs !== null && firstAtMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = firstAtMs ?? Infinity;
    if (firstAtMs === null) return;
    this.#timer = setTimeout(() => this.#cutLate(), Math.max(0, firstAtMs - performance.now()));
  }

  #cutLate(): void {
    this.#timerAtMs = Infinity;
    // A timer may fire early.
    this.#deadlines.sweep(performance.now() + 1, (pending) => {
      pending.isLate = true;
      this.#cut(pending, "ETIMEDOUT");
    });
    this.#watch();
  }

  #cut(pending: Pending, reason: string, stage: Stage = "waiting"): void {
    if (pending.connection !== null) pending.connection.fail(reason);
    else this.#settle(pending, failure(reason, stage));
  }

  #start(pending: Pending): void {
    const { host, target, tried } = pending;
    // What was closed under a request goes to a new connection where there may be one more: the idle ones may be closed too.
    const mayBeNew = pending.isRepeat && this.#options.mayStart(0, host.open.size);
    const idle = mayBeNew ? null : this.#takeIdle(host, target.addresses);
    if (idle !== null) return this.#run(idle, pending);
    const address = nextAddress(pending);
    tried.push(address);
    const isLast = tried.length >= target.addresses.length;
    const connectTimeoutMs = isLast ? {} : { connectTimeoutMs: addressTimeoutMs };
    const connection = this.#make(host, target, { address, ...connectTimeoutMs });
    if (typeof connection === "string") this.#cut(pending, connection, "connecting");
    else this.#run(connection, pending);
  }

  #takeIdle({ idle }: Host, addresses: readonly string[]): ClientConnection | null {
    const nowMs = performance.now();
    for (let taken = idle.pop(); taken !== undefined; taken = idle.pop()) {
      this.#idle.delete(taken);
      // To an address that the name has lost, or that may not be called any more, nothing goes.
      if (taken.isUsable(nowMs) && addresses.includes(taken.address)) return taken;
      taken.retire();
    }
    return null;
  }

  /** A connection that begins, or the code of why it does not. */
  #make(
    host: Host,
    target: Target,
    how: { readonly address: string; readonly connectTimeoutMs?: number },
  ): ClientConnection | string {
    const { connect, ...beginning } = this.#options;
    try {
      const connection = new ClientConnection((onread) => connect(target, how.address, onread), {
        ...beginning,
        ...how,
        onIdle: (idle) => this.#keep(host, idle),
        onGone: (gone) => this.#onGone(host, gone),
      });
      host.open.add(connection);
      return connection;
    } catch (error) {
      this.#forgetEmpty(host);
      return codeOf(error);
    }
  }

  #run(connection: ClientConnection, pending: Pending): void {
    const { onPart } = pending;
    pending.connection = connection;
    connection.run(
      pending.text,
      (answer) => this.#answered(pending, connection, answer),
      onPart === undefined ? null : (soFar) => onPart(soFar, () => connection.fail("ECANCELED")),
    );
  }

  #answered(pending: Pending, { address, isSilentAfterOthers }: ClientConnection, answer: Answer): void {
    const { host, target, tried, isLate, isRepeat } = pending;
    pending.connection = null;
    if (answer.kind === "answered") host.goodAddress = address;
    else if (!isLate && !this.#isClosed) {
      const isLost = this.#options.repeatsLost === true && isSilentAfterOthers && !isRepeat;
      const isElsewhere = answer.stage === "connecting" && tried.length < target.addresses.length;
      pending.isRepeat ||= isLost;
      if (isLost || isElsewhere) return this.#start(pending);
    }
    this.#settle(pending, answer);
  }

  #keep(host: Host, connection: ClientConnection): void {
    host.idle.push(connection);
    this.#idle.add(connection);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= idleMax) break;
      oldest.retire();
    }
    this.#sweepLater();
  }

  #sweepLater(): void {
    if (this.#sweeper !== undefined || this.#idle.size === 0) return;
    this.#sweeper = setTimeout(() => {
      this.#sweeper = undefined;
      const nowMs = performance.now();
      for (const idle of this.#idle) if (!idle.isUsable(nowMs)) idle.retire();
      this.#sweepLater();
    }, sweepMs);
  }

  #onGone(host: Host, gone: ClientConnection): void {
    host.open.delete(gone);
    this.#idle.delete(gone);
    const at = host.idle.indexOf(gone);
    if (at !== -1) host.idle.splice(at, 1);
    this.#forgetEmpty(host);
  }

  #forgetEmpty({ key, open, pending }: Host): void {
    if (open.size === 0 && pending.size === 0) this.#hosts.delete(key);
  }
}

function nextAddress({ host: { goodAddress }, target: { addresses }, tried }: Pending): string {
  if (goodAddress !== null && addresses.includes(goodAddress) && !tried.includes(goodAddress)) {
    return goodAddress;
  }
  return addresses.find((address) => !tried.includes(address)) ?? addresses[0] as string;
}

function failure(reason: string, stage: Stage): Failed {
  return { kind: "failed", status: null, reason, stage };
}
