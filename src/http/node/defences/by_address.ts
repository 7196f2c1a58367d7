/**
 * What the connections of one address may hold of a listener: slots, handshakes, and answers that nobody reads.
 *
 * @module
 */

import type { Socket } from "node:net";
import { LruCache } from "../../lru_cache.ts";
import type { Edge, Peer } from "../edge.ts";
import type { OpenExchange, ServerConnection } from "../server_connection.ts";
import { fixedBounds } from "./bounds.ts";

/** All members of one key, in the order in which they came. */
interface Group<M> {
  readonly key: string;
  readonly members: Set<M>;
}

/**
 * Members by key, and the keys by how many members they have: adding, removing and finding the largest take the same
 * time however many there are. It holds nothing but its members.
 */
class ByAddress<M> {
  readonly #groups = new Map<string, Group<M>>();
  /** The groups of one, of two and so on. */
  readonly #levels: Set<Group<M>>[] = [];
  #size = 0;
  #largest = 0;

  /** How many members there are. */
  get size(): number {
    return this.#size;
  }

  /** Adds a member that is not there. */
  add(key: string, member: M): void {
    const group = this.#groups.get(key) ?? { key, members: new Set() };
    this.#groups.set(key, group);
    this.#levels[group.members.size]?.delete(group);
    group.members.add(member);
    this.#size++;
    this.#place(group);
    this.#largest = Math.max(this.#largest, group.members.size);
  }

  /** Takes a member out; nothing happens when it is not there. */
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

  /** The members of one key, the oldest first. */
  of(key: string): ReadonlySet<M> {
    return this.#groups.get(key)?.members ?? new Set();
  }

  /** All members: those of the key that has the most first, of each the oldest first. */
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

/** What an address is known for. */
export type Reputation = keyof typeof fixedBounds.handshakeGapsMs;

/** The sockets of addresses of one reputation. */
class Line {
  readonly #gapMs: number;
  /** By address; the first one is next. */
  readonly #sockets = new Map<string, Set<Socket>>();
  #readyMs = -Infinity;

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** How long its first socket still has to wait; `null` when there is none. */
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

  /** The first socket of the address whose turn it is; the next turn is another one's. */
  next(): Socket | undefined {
    for (const [key, sockets] of this.#sockets) {
      this.#sockets.delete(key);
      this.#sockets.set(key, sockets);
      return sockets.values().next().value;
    }
    return undefined;
  }

  /** A handshake of it begins. */
  begun(nowMs: number): void {
    this.#readyMs = nowMs + this.#gapMs;
  }
}

/** A socket's place. */
interface Place {
  readonly line: Line;
  readonly key: string;
  readonly sinceMs: number;
}

/** Begins handshakes, a few in a turn. Who has waited for longer than a handshake may take is closed. */
export class HandshakeQueue {
  readonly #begin: (socket: Socket) => void;
  readonly #patienceMs: number;
  readonly #lines: Readonly<Record<Reputation, Line>> = {
    abusive: new Line(fixedBounds.handshakeGapsMs.abusive),
    many: new Line(fixedBounds.handshakeGapsMs.many),
    few: new Line(fixedBounds.handshakeGapsMs.few),
  };
  /** Those that wait, the oldest first. */
  readonly #places = new Map<Socket, Place>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isDue = false;

  constructor(options: { readonly patienceMs: number; readonly begin: (socket: Socket) => void }) {
    this.#patienceMs = options.patienceMs;
    this.#begin = options.begin;
  }

  /** Adds a socket that nobody reads yet. How many there are at once is bounded by the listener's slots. */
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
    // A client that has given up is not seen to leave as long as nobody reads.
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

/** A socket that was accepted. */
class Slot {
  readonly socket: Socket;
  readonly peer: Peer;
  /** It waits for us to begin its TLS handshake. */
  isInLine: boolean;
  /** Since when it is the client's turn, if it is. */
  sinceMs: number = performance.now();
  /** `null` before the end of the TLS handshake. */
  connection: ServerConnection | null = null;

  constructor(socket: Socket, { peer, isInLine }: { readonly peer: Peer; readonly isInLine: boolean }) {
    this.socket = socket;
    this.peer = peer;
    this.isInLine = isInLine;
  }

  /**
   * How far down the line it is for having to go: 0 has kept us waiting (in a handshake, for a first request, a body, or
   * for an answer to be taken) for longer than `patienceMs`, 1 is idle, 2 waits for its client and has not for long, as
   * every honest post does for a moment. `null` is being answered, and does not go.
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
   * Whether nothing more can come of it, and its socket is open all the same. A write that fails, as after a reset, or that
   * the client does not take, is never over for Node's HTTP/2: the session stops reading, misses the connection's end (on
   * Node before 26), and stays open when it is destroyed (https://github.com/nodejs/node/issues/55804). The kernel knows.
   */
  get isOver(): boolean {
    const { _handle } = this.socket as { _handle?: { getpeername?: (into: object) => number } | null };
    return this.connection?.transport.destroyed === true || (_handle?.getpeername?.({}) ?? 0) !== 0;
  }

  /** Closes it at once. */
  destroy(): void {
    this.connection?.destroy();
    this.socket.destroy();
  }
}

/** The slots of a listener. What they hold is bounded by the sockets that are open. */
export class Slots {
  readonly #edge: Edge;
  /** By the client's end; a TLS socket or HTTP/2 session has the same as the socket below it. */
  readonly #taken = new Map<string, Slot>();
  #walk = this.#taken.values();
  /** Those that have not been told to go. */
  readonly #byAddress = new ByAddress<Slot>();
  readonly #handshakes = new ByAddress<Slot>();
  /** When the last connection of an address was ended because of what it sent without a request. */
  readonly #abusive = new LruCache<string, number>(fixedBounds.abusiveMax, () => 1);

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /** How many sockets are open. */
  get size(): number {
    return this.#taken.size;
  }

  /**
   * Takes a slot for a socket; what has to go for it is closed, itself if nothing else can. Returns its address, and what
   * that is known for.
   */
  take(socket: Socket): { readonly key: string; readonly reputation: Reputation } {
    const peer = this.#edge.peer(socket.remoteAddress);
    const isInLine = Boolean(this.#edge.options.tls);
    const end = endOf(socket);
    const slot = new Slot(socket, { peer, isInLine });
    // Whoever had the same end before is gone.
    this.#taken.get(end)?.destroy();
    this.#taken.set(end, slot);
    this.#byAddress.add(peer.key, slot);
    if (isInLine) this.#handshakes.add(peer.key, slot);
    socket.once("close", () => {
      this.#leave(slot);
      if (this.#taken.get(end) === slot) this.#taken.delete(end);
    });
    this.#makeRoom(slot);
    // A client that has gone already has no address to be told apart by.
    if (socket.remoteAddress === undefined) slot.destroy();
    return { key: peer.key, reputation: this.#reputation(peer) };
  }

  /** A connection of a peer was ended because of what it sent without a request. */
  markAbusive({ key }: Peer): void {
    this.#abusive.put(key, performance.now());
  }

  /** The TLS handshake of a socket begins. */
  begun(socket: Socket): void {
    const slot = this.#taken.get(endOf(socket));
    if (slot === undefined) return;
    slot.isInLine = false;
    slot.sinceMs = performance.now();
  }

  /** Closes the sockets of connections that are over. Looks at some of them, and at the next ones when it is called again. */
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

  /** Closes what waits for its TLS handshake to begin. */
  endLine(): void {
    for (const slot of this.#taken.values()) if (slot.isInLine) slot.destroy();
  }

  /** The slot of a connection that can be used now. */
  opened(socket: Socket, connection: ServerConnection): void {
    const slot = this.#taken.get(endOf(socket));
    if (slot === undefined) return;
    slot.connection = connection;
    slot.sinceMs = performance.now();
    this.#handshakes.remove(slot.peer.key, slot);
  }

  /** How many HTTP/2 connections a peer's address has; 0 when there may be many clients behind it. */
  sessionsOf(peer: Peer): number {
    if (this.#edge.isMany(peer)) return 0;
    let sessions = 0;
    for (const { connection } of this.#byAddress.of(peer.key)) if (connection?.isHttp2) sessions++;
    return sessions;
  }

  /** Closes all of them. */
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

/** A connection that has to go. */
interface Expelled {
  readonly connection: ServerConnection;
  /** Its address leaves many answers waiting, and is known for it; another one was just the first to go. */
  readonly isAbusive: boolean;
}

/** The untaken answers of one listener. What it holds is bounded by `untakenMax` and `untakenOfAddressMax`. */
export class UnreadResponses {
  readonly #edge: Edge;
  readonly #byAddress = new ByAddress<OpenExchange>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /**
   * An answer, or the next piece of it, is given to the connection, where it may wait for as long as the client likes:
   * one too many costs the connection of the one that has waited longest, at the address that has the most.
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

  /** An answer was taken, or its connection is gone. */
  ended(exchange: OpenExchange): void {
    this.#byAddress.remove(exchange.connection.peer.key, exchange);
  }

  /** How many streams a new connection may have at once, the `sessions`th of its address. */
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
