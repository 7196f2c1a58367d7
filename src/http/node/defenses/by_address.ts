/** Limits per client address: connections, handshakes and unread responses. */

import type { Socket } from "node:net";
import { LruCache } from "../../lru_cache.ts";
import type { Edge, Peer } from "../edge.ts";
import type { OpenExchange, ServerConnection } from "../server_connection.ts";
import { fixedBounds } from "./bounds.ts";

/** The members of one address, in insertion order. */
interface Group<M> {
  readonly key: string;
  readonly members: Set<M>;
}

/** Groups members by address. Adding, removing and finding the largest group take constant time. */
class ByAddress<M> {
  readonly #groups = new Map<string, Group<M>>();
  readonly #groupsBySize: Set<Group<M>>[] = [];
  #size = 0;
  #largest = 0;

  get size(): number {
    return this.#size;
  }

  add(key: string, member: M): void {
    const group = this.#groups.get(key) ?? { key, members: new Set() };
    this.#groups.set(key, group);
    this.#groupsBySize[group.members.size]?.delete(group);
    group.members.add(member);
    this.#size++;
    this.#place(group);
    this.#largest = Math.max(this.#largest, group.members.size);
  }

  remove(key: string, member: M): void {
    const group = this.#groups.get(key);
    if (group === undefined || !group.members.has(member)) return;
    this.#groupsBySize[group.members.size]?.delete(group);
    group.members.delete(member);
    this.#size--;
    if (group.members.size > 0) this.#place(group);
    else this.#groups.delete(key);
    while (this.#largest > 0 && this.#groupsBySize[this.#largest]?.size === 0) this.#largest--;
  }

  /** Returns the members with an address, oldest first. */
  of(key: string): ReadonlySet<M> {
    return this.#groups.get(key)?.members ?? new Set();
  }

  /** Iterates over all members: the largest group first, and each group's oldest member first. */
  *all(): Generator<M> {
    for (let size = this.#largest; size > 0; size--) {
      for (const { members } of this.#groupsBySize[size] ?? []) yield* members;
    }
  }

  #place(group: Group<M>): void {
    const { size } = group.members;
    (this.#groupsBySize[size] ??= new Set()).add(group);
  }
}

export type Reputation = keyof typeof fixedBounds.handshakeGapsMs;

/** The waiting sockets from all addresses with the same reputation. */
class ReputationQueue {
  readonly #gapMs: number;
  /** The sockets by address, in round-robin order. */
  readonly #sockets = new Map<string, Set<Socket>>();
  #readyMs = -Infinity;

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** Returns the time until the next handshake may start; `null` if the queue is empty. */
  waitMs(nowMs: number): number | null {
    return this.#sockets.size === 0 ? null : Math.max(0, this.#readyMs - nowMs);
  }

  add(key: string, socket: Socket): void {
    const sockets = this.#sockets.get(key) ?? new Set();
    this.#sockets.set(key, sockets);
    sockets.add(socket);
  }

  remove(key: string, socket: Socket): void {
    const sockets = this.#sockets.get(key);
    if (sockets?.delete(socket) && sockets.size === 0) this.#sockets.delete(key);
  }

  next(): Socket | undefined {
    for (const [key, sockets] of this.#sockets) {
      this.#sockets.delete(key);
      this.#sockets.set(key, sockets);
      return sockets.values().next().value;
    }
    return undefined;
  }

  onStarted(nowMs: number): void {
    this.#readyMs = nowMs + this.#gapMs;
  }
}

interface QueueEntry {
  readonly queue: ReputationQueue;
  readonly key: string;
  readonly sinceMs: number;
}

/** Starts a few handshakes per turn of the event loop, and closes sockets that wait too long. */
export class HandshakeQueue {
  readonly #start: (socket: Socket) => void;
  readonly #waitMsMax: number;
  /** The queues in order of priority: `few`, which has no gap, could otherwise starve the others. */
  readonly #queues: Readonly<Record<Reputation, ReputationQueue>> = {
    abusive: new ReputationQueue(fixedBounds.handshakeGapsMs.abusive),
    many: new ReputationQueue(fixedBounds.handshakeGapsMs.many),
    few: new ReputationQueue(fixedBounds.handshakeGapsMs.few),
  };
  /** The entries by waiting socket, oldest first. */
  readonly #entries = new Map<Socket, QueueEntry>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isScheduled = false;

  constructor(options: { readonly waitMsMax: number; readonly start: (socket: Socket) => void }) {
    this.#waitMsMax = options.waitMsMax;
    this.#start = options.start;
  }

  /** Queues a socket from which nothing has been read; {@linkcode Slots} limits their number. */
  add(socket: Socket, { key, reputation }: { readonly key: string; readonly reputation: Reputation }): void {
    if (socket.destroyed) return;
    const queue = this.#queues[reputation];
    queue.add(key, socket);
    this.#entries.set(socket, { queue, key, sinceMs: performance.now() });
    socket.once("close", () => this.#remove(socket));
    this.#schedule();
  }

  #remove(socket: Socket): void {
    const entry = this.#entries.get(socket);
    this.#entries.delete(socket);
    entry?.queue.remove(entry.key, socket);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const nowMs = performance.now();
    const waits = Object.values(this.#queues).map((queue) => queue.waitMs(nowMs)).filter((wait) =>
      wait !== null
    );
    if (waits.length === 0) return;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    const waitMs = Math.min(...waits);
    this.#isScheduled = waitMs === 0;
    if (this.#isScheduled) setImmediate(() => this.#startSome());
    else this.#timer = setTimeout(() => this.#schedule(), waitMs).unref();
  }

  #startSome(): void {
    const nowMs = performance.now();
    // A socket that is not being read does not report that its client has disconnected.
    for (const [socket, { sinceMs }] of this.#entries) {
      if (nowMs - sinceMs < this.#waitMsMax) break;
      this.#remove(socket);
      socket.destroy();
    }
    for (let started = 0; started < fixedBounds.handshakesPerTurn;) {
      const queue = Object.values(this.#queues).find((queue) => queue.waitMs(nowMs) === 0);
      const socket = queue?.next();
      if (queue === undefined || socket === undefined) break;
      this.#remove(socket);
      if (socket.destroyed) continue;
      queue.onStarted(nowMs);
      started++;
      this.#start(socket);
    }
    this.#isScheduled = false;
    this.#schedule();
  }
}

/** An accepted socket. */
class Slot {
  readonly socket: Socket;
  readonly peer: Peer;
  /** Whether the socket waits in the handshake queue. */
  isQueued: boolean;
  /** When the current wait for the client began. */
  sinceMs: number = performance.now();
  /** `null` until the TLS handshake is complete. */
  connection: ServerConnection | null = null;

  constructor(socket: Socket, { peer, isQueued }: { readonly peer: Peer; readonly isQueued: boolean }) {
    this.socket = socket;
    this.peer = peer;
    this.isQueued = isQueued;
  }

  /**
   * Returns the eviction order, lowest first: 0 if the client has delayed for `graceMs`, 1 if the connection is idle, 2
   * if it waits for its handshake or, as in every post, has waited for the client for less than `graceMs`; `null` while a
   * request is handled.
   */
  evictionRank(graceMs: number): 0 | 1 | 2 | null {
    const { connection } = this;
    if (this.isQueued) return 2;
    if (connection === null || connection.waitsForClient) {
      const sinceMs = connection?.latestStartMs ?? this.sinceMs;
      return performance.now() - sinceMs >= graceMs ? 0 : 2;
    }
    return connection.isIdle ? 1 : null;
  }

  /**
   * Whether the connection has ended although its socket is open. After a failed write, Node's HTTP/2 session stops
   * reading, misses the end (before Node 26) and survives `destroy` (https://github.com/nodejs/node/issues/55804).
   */
  get hasEnded(): boolean {
    const { _handle } = this.socket as { _handle?: { getpeername?: (into: object) => number } | null };
    return this.connection?.transport.destroyed === true || (_handle?.getpeername?.({}) ?? 0) !== 0;
  }

  destroy(): void {
    this.connection?.destroy();
    this.socket.destroy();
  }
}

/** Tracks a listener's open sockets, and enforces its limits. */
export class Slots {
  readonly #edge: Edge;
  /** Slots by remote endpoint, which a TLS socket or HTTP/2 session shares with its TCP socket. */
  readonly #slots = new Map<string, Slot>();
  #sweepIterator = this.#slots.values();
  /** The sockets that have not been evicted. */
  readonly #byAddress = new ByAddress<Slot>();
  readonly #handshakes = new ByAddress<Slot>();
  /** The time when a connection from an address was last marked as abusive, by address. */
  readonly #abusive = new LruCache<string, number>(fixedBounds.abusiveAddressesMax, () => 1);

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Adds a socket; for each exceeded limit, evicts one, possibly the new one. Returns its key and reputation. */
  add(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    const peer = this.#edge.peer(socket.remoteAddress);
    const isQueued = Boolean(this.#edge.options.tls);
    const endpoint = endpointOf(socket);
    const slot = new Slot(socket, { peer, isQueued });
    // A new connection from the same endpoint shows that the previous one has ended.
    this.#slots.get(endpoint)?.destroy();
    this.#slots.set(endpoint, slot);
    this.#byAddress.add(peer.key, slot);
    if (isQueued) this.#handshakes.add(peer.key, slot);
    socket.once("close", () => {
      this.#remove(slot);
      if (this.#slots.get(endpoint) === slot) this.#slots.delete(endpoint);
    });
    this.#enforceLimits(slot);
    // A client that has already disconnected has no address.
    if (socket.remoteAddress === undefined) slot.destroy();
    return { key: peer.key, reputation: this.#reputation(peer) };
  }

  markAbusive({ key }: Peer): void {
    this.#abusive.put(key, performance.now());
  }

  onHandshakeStarted(socket: Socket): void {
    const slot = this.#slots.get(endpointOf(socket));
    if (slot === undefined) return;
    slot.isQueued = false;
    slot.sinceMs = performance.now();
  }

  /** Closes the sockets of ended connections; each call checks the next `socketsPerSweep` sockets. */
  sweep(): void {
    for (let checked = 0; checked < fixedBounds.socketsPerSweep; checked++) {
      const { value: slot } = this.#sweepIterator.next();
      if (slot === undefined) {
        this.#sweepIterator = this.#slots.values();
        return;
      }
      if (slot.hasEnded) slot.destroy();
    }
  }

  closeQueued(): void {
    for (const slot of this.#slots.values()) if (slot.isQueued) slot.destroy();
  }

  onConnected(socket: Socket, connection: ServerConnection): void {
    const slot = this.#slots.get(endpointOf(socket));
    if (slot === undefined) return;
    slot.connection = connection;
    slot.sinceMs = performance.now();
    this.#handshakes.remove(slot.peer.key, slot);
  }

  /** Returns the number of HTTP/2 connections from an address; 0 if many clients may share the address. */
  sessionsOf(peer: Peer): number {
    if (this.#edge.isShared(peer)) return 0;
    let sessions = 0;
    for (const { connection } of this.#byAddress.of(peer.key)) if (connection?.isHttp2) sessions++;
    return sessions;
  }

  destroy(): void {
    for (const slot of this.#slots.values()) slot.destroy();
  }

  #reputation(peer: Peer): Reputation {
    if (this.#edge.isShared(peer)) return "few";
    const abusiveMs = this.#abusive.get(peer.key) ?? -Infinity;
    if (performance.now() - abusiveMs < fixedBounds.abuseMemoryMs) return "abusive";
    this.#abusive.drop(peer.key);
    return this.#byAddress.of(peer.key).size > fixedBounds.fewConnectionsMax ? "many" : "few";
  }

  #enforceLimits(newcomer: Slot): void {
    const { connectionsMax, handshakesMax } = this.#edge.bounds;
    const { peer } = newcomer;
    const ofAddress = this.#byAddress.of(peer.key);
    if (ofAddress.size > this.#edge.connectionsPerAddressMax(peer)) this.#evict(ofAddress, newcomer);
    else if (this.#byAddress.size > connectionsMax) this.#evict(this.#byAddress.all(), newcomer);
    if (this.#handshakes.size > handshakesMax) this.#evict(this.#handshakes.all(), newcomer);
  }

  #evict(candidates: Iterable<Slot>, newcomer: Slot): void {
    const slot = firstToEvict(candidates, newcomer, this.#edge.bounds.evictionGraceMs) ?? newcomer;
    this.#remove(slot);
    slot.destroy();
  }

  #remove(slot: Slot): void {
    this.#byAddress.remove(slot.peer.key, slot);
    this.#handshakes.remove(slot.peer.key, slot);
  }
}

function firstToEvict(candidates: Iterable<Slot>, newcomer: Slot, graceMs: number): Slot | null {
  let best: { readonly slot: Slot; readonly rank: number } | null = null;
  let seen = 0;
  for (const slot of candidates) {
    if (++seen > fixedBounds.evictionCandidatesMax) break;
    const rank = slot === newcomer ? null : slot.evictionRank(graceMs);
    if (rank === 0) return slot;
    if (rank !== null && rank < (best?.rank ?? Infinity)) best = { slot, rank };
  }
  return best?.slot ?? null;
}

function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

interface Eviction {
  readonly connection: ServerConnection;
  /** Whether the address has so many unread responses that it is abusive. */
  readonly isAbusive: boolean;
}

/** Tracks HTTP/2 responses that clients have not read, and enforces their limits. */
export class UnreadResponses {
  readonly #edge: Edge;
  readonly #byAddress = new ByAddress<OpenExchange>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /**
   * Adds a response, or moves it to the end after another chunk. If the address or the total then exceeds its limit,
   * returns the connection with the oldest response to that address or to the address with the most responses.
   */
  add(exchange: OpenExchange): Eviction | null {
    const { peer } = exchange.connection;
    this.#byAddress.remove(peer.key, exchange);
    this.#byAddress.add(peer.key, exchange);
    const ofAddress = this.#byAddress.of(peer.key);
    if (ofAddress.size > this.#edge.unreadPerAddressMax(peer)) return this.#evictionFrom(ofAddress);
    if (this.#byAddress.size > this.#edge.bounds.unreadResponsesMax) {
      return this.#evictionFrom(this.#byAddress.all());
    }
    return null;
  }

  remove(exchange: OpenExchange): void {
    this.#byAddress.remove(exchange.connection.peer.key, exchange);
  }

  /** Returns the stream limit for a new connection whose address has `sessions` HTTP/2 connections. */
  streamsMax(peer: Peer, sessions: number): number {
    const { streamsMax, unreadResponsesMax } = this.#edge.bounds;
    const isSlowReader = this.#byAddress.of(peer.key).size > 0;
    if (isSlowReader && this.#byAddress.size >= unreadResponsesMax / 2) return fixedBounds.pressureStreamsMax;
    return sessions > fixedBounds.unrestrictedSessionsMax
      ? Math.min(fixedBounds.restrictedStreamsMax, streamsMax)
      : streamsMax;
  }

  #evictionFrom(exchanges: Iterable<OpenExchange>): Eviction | null {
    for (const { connection } of exchanges) {
      const { peer } = connection;
      const isAbusive = this.#byAddress.of(peer.key).size > this.#edge.unreadPerAddressMax(peer) / 4;
      return { connection, isAbusive };
    }
    return null;
  }
}
