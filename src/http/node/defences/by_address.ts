/** Per-address limits: slots, handshakes and unread responses. */

import type { Socket } from "node:net";
import { LruCache } from "../../lru_cache.ts";
import type { Edge, Peer } from "../edge.ts";
import type { OpenExchange, ServerConnection } from "../server_connection.ts";
import { fixedBounds } from "./bounds.ts";

/** The members of one key, in insertion order. */
interface Group<M> {
  readonly key: string;
  readonly members: Set<M>;
}

/** Members by key, and keys by size: insertion, removal and finding the largest take constant time. */
class ByAddress<M> {
  readonly #groups = new Map<string, Group<M>>();
  /** Groups by size. */
  readonly #levels: Set<Group<M>>[] = [];
  #size = 0;
  #largest = 0;

  get size(): number {
    return this.#size;
  }

  add(key: string, member: M): void {
    const group = this.#groups.get(key) ?? { key, members: new Set() };
    this.#groups.set(key, group);
    this.#levels[group.members.size]?.delete(group);
    group.members.add(member);
    this.#size++;
    this.#place(group);
    this.#largest = Math.max(this.#largest, group.members.size);
  }

  /** Removes a member if present. */
  remove(key: string, member: M): void {
    const group = this.#groups.get(key);
    if (group === undefined || !group.members.has(member)) return;
    this.#levels[group.members.size]?.delete(group);
    group.members.delete(member);
    this.#size--;
    if (group.members.size > 0) this.#place(group);
    else this.#groups.delete(key);
    while (this.#largest > 0 && this.#levels[this.#largest]?.size === 0) this.#largest--;
  }

  /** The members of a key, oldest first. */
  of(key: string): ReadonlySet<M> {
    return this.#groups.get(key)?.members ?? new Set();
  }

  /** All members, largest key first, oldest first within a key. */
  *all(): Generator<M> {
    for (let size = this.#largest; size > 0; size--) {
      for (const { members } of this.#levels[size] ?? []) yield* members;
    }
  }

  #place(group: Group<M>): void {
    const { size } = group.members;
    (this.#levels[size] ??= new Set()).add(group);
  }
}

/** The reputation of an address. */
export type Reputation = keyof typeof fixedBounds.handshakeGapsMs;

/** The sockets of one reputation class. */
class Line {
  readonly #gapMs: number;
  /** By address, in round-robin order. */
  readonly #sockets = new Map<string, Set<Socket>>();
  #readyMs = -Infinity;

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** The wait of the first socket, or `null`. */
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

  /** Takes the next socket, round robin by address. */
  next(): Socket | undefined {
    for (const [key, sockets] of this.#sockets) {
      this.#sockets.delete(key);
      this.#sockets.set(key, sockets);
      return sockets.values().next().value;
    }
    return undefined;
  }

  begun(nowMs: number): void {
    this.#readyMs = nowMs + this.#gapMs;
  }
}

interface Place {
  readonly line: Line;
  readonly key: string;
  readonly sinceMs: number;
}

/** Starts handshakes, a few per turn of the loop; closes sockets that wait longer than a handshake may take. */
export class HandshakeQueue {
  readonly #begin: (socket: Socket) => void;
  readonly #patienceMs: number;
  readonly #lines: Readonly<Record<Reputation, Line>> = {
    abusive: new Line(fixedBounds.handshakeGapsMs.abusive),
    many: new Line(fixedBounds.handshakeGapsMs.many),
    few: new Line(fixedBounds.handshakeGapsMs.few),
  };
  /** Waiting sockets, oldest first. */
  readonly #places = new Map<Socket, Place>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isDue = false;

  constructor(options: { readonly patienceMs: number; readonly begin: (socket: Socket) => void }) {
    this.#patienceMs = options.patienceMs;
    this.#begin = options.begin;
  }

  /** Adds an unread socket; the listener's slots bound their number. */
  add(socket: Socket, { key, reputation }: { readonly key: string; readonly reputation: Reputation }): void {
    if (socket.destroyed) return;
    const line = this.#lines[reputation];
    line.add(key, socket);
    this.#places.set(socket, { line, key, sinceMs: performance.now() });
    socket.once("close", () => this.#leave(socket));
    this.#schedule();
  }

  #leave(socket: Socket): void {
    const place = this.#places.get(socket);
    this.#places.delete(socket);
    place?.line.remove(place.key, socket);
  }

  #schedule(): void {
    if (this.#isDue) return;
    const nowMs = performance.now();
    const waits = Object.values(this.#lines).map((line) => line.waitMs(nowMs)).filter((wait) =>
      wait !== null
    );
    if (waits.length === 0) return;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    const waitMs = Math.min(...waits);
    this.#isDue = waitMs === 0;
    if (this.#isDue) setImmediate(() => this.#turn());
    else this.#timer = setTimeout(() => this.#schedule(), waitMs).unref();
  }

  #turn(): void {
    const nowMs = performance.now();
    // A disconnect is not noticed on an unread socket.
    for (const [socket, { sinceMs }] of this.#places) {
      if (nowMs - sinceMs < this.#patienceMs) break;
      this.#leave(socket);
      socket.destroy();
    }
    for (let begun = 0; begun < fixedBounds.handshakesPerTurn;) {
      const line = Object.values(this.#lines).find((line) => line.waitMs(nowMs) === 0);
      const socket = line?.next();
      if (line === undefined || socket === undefined) break;
      this.#leave(socket);
      if (socket.destroyed) continue;
      line.begun(nowMs);
      begun++;
      this.#begin(socket);
    }
    this.#isDue = false;
    this.#schedule();
  }
}

/** An accepted socket. */
class Slot {
  readonly socket: Socket;
  readonly peer: Peer;
  /** In the handshake queue. */
  isInLine: boolean;
  /** Since when the client is to act. */
  sinceMs: number = performance.now();
  /** `null` until the TLS handshake is done. */
  connection: ServerConnection | null = null;

  constructor(socket: Socket, { peer, isInLine }: { readonly peer: Peer; readonly isInLine: boolean }) {
    this.socket = socket;
    this.peer = peer;
    this.isInLine = isInLine;
  }

  /**
   * Eviction order, lower goes first: 0 has kept us waiting longer than `patienceMs`, 1 is idle, 2 waits briefly for
   * its client, as every honest post does. `null` is being answered and stays.
   */
  rank(patienceMs: number): 0 | 1 | 2 | null {
    const { connection } = this;
    if (this.isInLine) return 2;
    if (connection === null || connection.waitsForClient) {
      const sinceMs = connection?.latestStartMs ?? this.sinceMs;
      return performance.now() - sinceMs >= patienceMs ? 0 : 2;
    }
    return connection.isQuiet ? 1 : null;
  }

  /**
   * Whether the connection is over although its socket is open. After a failed write Node's HTTP/2 session stops
   * reading, misses the end (before Node 26) and survives `destroy` (https://github.com/nodejs/node/issues/55804).
   */
  get isOver(): boolean {
    const { _handle } = this.socket as { _handle?: { getpeername?: (into: object) => number } | null };
    return this.connection?.transport.destroyed === true || (_handle?.getpeername?.({}) ?? 0) !== 0;
  }

  destroy(): void {
    this.connection?.destroy();
    this.socket.destroy();
  }
}

/** The slots of a listener, bounded by its open sockets. */
export class Slots {
  readonly #edge: Edge;
  /** By remote endpoint, which a TLS socket or HTTP/2 session shares with its socket. */
  readonly #taken = new Map<string, Slot>();
  #walk = this.#taken.values();
  /** Slots not yet evicted. */
  readonly #byAddress = new ByAddress<Slot>();
  readonly #handshakes = new ByAddress<Slot>();
  /** When an address last had a connection ended for abuse. */
  readonly #abusive = new LruCache<string, number>(fixedBounds.abusiveMax, () => 1);

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  get size(): number {
    return this.#taken.size;
  }

  /** Takes a slot for a socket, evicting one if necessary, possibly itself. Returns its address and reputation. */
  take(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    const peer = this.#edge.peer(socket.remoteAddress);
    const isInLine = Boolean(this.#edge.options.tls);
    const end = endOf(socket);
    const slot = new Slot(socket, { peer, isInLine });
    // The previous socket of this endpoint is gone.
    this.#taken.get(end)?.destroy();
    this.#taken.set(end, slot);
    this.#byAddress.add(peer.key, slot);
    if (isInLine) this.#handshakes.add(peer.key, slot);
    socket.once("close", () => {
      this.#leave(slot);
      if (this.#taken.get(end) === slot) this.#taken.delete(end);
    });
    this.#makeRoom(slot);
    // A disconnected client has no address.
    if (socket.remoteAddress === undefined) slot.destroy();
    return { key: peer.key, reputation: this.#reputation(peer) };
  }

  /** Records that a connection was ended for abuse. */
  markAbusive({ key }: Peer): void {
    this.#abusive.put(key, performance.now());
  }

  begun(socket: Socket): void {
    const slot = this.#taken.get(endOf(socket));
    if (slot === undefined) return;
    slot.isInLine = false;
    slot.sinceMs = performance.now();
  }

  /** Closes sockets of finished connections, checking some per call in turn. */
  sweep(): void {
    for (let looks = 0; looks < fixedBounds.slotLooks; looks++) {
      const { value: slot } = this.#walk.next();
      if (slot === undefined) {
        this.#walk = this.#taken.values();
        return;
      }
      if (slot.isOver) slot.destroy();
    }
  }

  /** Closes sockets that wait for a handshake. */
  endLine(): void {
    for (const slot of this.#taken.values()) if (slot.isInLine) slot.destroy();
  }

  /** Records that a connection is ready. */
  opened(socket: Socket, connection: ServerConnection): void {
    const slot = this.#taken.get(endOf(socket));
    if (slot === undefined) return;
    slot.connection = connection;
    slot.sinceMs = performance.now();
    this.#handshakes.remove(slot.peer.key, slot);
  }

  /** The HTTP/2 connections of a peer's address; 0 if it may be shared by many clients. */
  sessionsOf(peer: Peer): number {
    if (this.#edge.isMany(peer)) return 0;
    let sessions = 0;
    for (const { connection } of this.#byAddress.of(peer.key)) if (connection?.isHttp2) sessions++;
    return sessions;
  }

  destroy(): void {
    for (const slot of this.#taken.values()) slot.destroy();
  }

  #reputation(peer: Peer): Reputation {
    if (this.#edge.isMany(peer)) return "few";
    const abusiveMs = this.#abusive.get(peer.key) ?? -Infinity;
    if (performance.now() - abusiveMs < fixedBounds.abusiveForMs) return "abusive";
    this.#abusive.drop(peer.key);
    return this.#byAddress.of(peer.key).size > fixedBounds.fewConnectionsMax ? "many" : "few";
  }

  #makeRoom(newcomer: Slot): void {
    const { connectionsMax, handshakesMax } = this.#edge.bounds;
    const { peer } = newcomer;
    if (this.#byAddress.of(peer.key).size > this.#edge.connectionsOfAddressMax(peer)) {
      this.#shed(this.#byAddress.of(peer.key), newcomer);
    } else if (this.#byAddress.size > connectionsMax) {
      this.#shed(this.#byAddress.all(), newcomer);
    }
    if (this.#handshakes.size > handshakesMax) this.#shed(this.#handshakes.all(), newcomer);
  }

  #shed(line: Iterable<Slot>, newcomer: Slot): void {
    const slot = firstToGo(line, newcomer, this.#edge.bounds.slotPatienceMs) ?? newcomer;
    this.#leave(slot);
    slot.destroy();
  }

  #leave(slot: Slot): void {
    this.#byAddress.remove(slot.peer.key, slot);
    this.#handshakes.remove(slot.peer.key, slot);
  }
}

function firstToGo(line: Iterable<Slot>, newcomer: Slot, patienceMs: number): Slot | null {
  let best: { readonly slot: Slot; readonly rank: number } | null = null;
  let seen = 0;
  for (const slot of line) {
    if (++seen > fixedBounds.slotCandidatesMax) break;
    const rank = slot === newcomer ? null : slot.rank(patienceMs);
    if (rank === 0) return slot;
    if (rank !== null && rank < (best?.rank ?? Infinity)) best = { slot, rank };
  }
  return best?.slot ?? null;
}

function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A connection to be closed. */
interface Expelled {
  readonly connection: ServerConnection;
  /** The address is abusive, rather than the first to be evicted. */
  readonly isAbusive: boolean;
}

/** Unread responses of a listener, bounded by `untakenMax` and `untakenOfAddressMax`. */
export class UnreadResponses {
  readonly #edge: Edge;
  readonly #byAddress = new ByAddress<OpenExchange>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /**
   * Records a response (or piece) that is passed to the connection; above the bound, returns the connection to close:
   * the longest-waiting one of the address with the most.
   */
  given(exchange: OpenExchange): Expelled | null {
    const { peer } = exchange.connection;
    this.#byAddress.remove(peer.key, exchange);
    this.#byAddress.add(peer.key, exchange);
    const ofAddress = this.#byAddress.of(peer.key);
    if (ofAddress.size > this.#edge.untakenOfAddressMax(peer)) return this.#first(ofAddress);
    if (this.#byAddress.size > this.#edge.bounds.untakenMax) return this.#first(this.#byAddress.all());
    return null;
  }

  /** Records that a response was read, or its connection closed. */
  ended(exchange: OpenExchange): void {
    this.#byAddress.remove(exchange.connection.peer.key, exchange);
  }

  /** The stream limit of a new connection, the `sessions`th of its address. */
  streamsMax(peer: Peer, sessions: number): number {
    const { streamsMax, untakenMax } = this.#edge.bounds;
    const isPressing = this.#byAddress.of(peer.key).size > 0;
    if (isPressing && this.#byAddress.size >= untakenMax / 2) return fixedBounds.pressedStreamsMax;
    return sessions > fixedBounds.fullSessionsMax
      ? Math.min(fixedBounds.furtherStreamsMax, streamsMax)
      : streamsMax;
  }

  #first(line: Iterable<OpenExchange>): Expelled | null {
    for (const { connection } of line) {
      const { peer } = connection;
      const isAbusive = this.#byAddress.of(peer.key).size > this.#edge.untakenOfAddressMax(peer) / 4;
      return { connection, isAbusive };
    }
    return null;
  }
}
