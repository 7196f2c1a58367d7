/**
 * The listener's slots: how many connections there may be, of one address and in all, and which one goes when there is
 * one too many.
 *
 * @module
 */

import type { Socket } from "node:net";
import { Crowd } from "./crowd.ts";
import type { Edge, Peer } from "./edge.ts";
import type { Standing } from "./handshake_line.ts";
import { LruCache } from "../lru_cache.ts";
import type { ServerConnection } from "./server_connection.ts";

/** How many are looked at for one that can go: of the address with the most connections, those there longest. */
const candidatesMax = 64;

/** Partners keep a few connections open; who has more lets others go first. */
const fewMax = 8;

/** How long an address is known for a connection that was ended, and of how many that is known. */
const wastefulForMs = 60_000;
const wastefulMax = 10_000;

/** A socket that was accepted. */
export class Slot {
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
  /** Those that have not been told to go. */
  readonly #crowd = new Crowd<Slot>();
  readonly #handshakes = new Crowd<Slot>();
  /** When the last connection of an address was ended because of what it sent without a request. */
  readonly #wasteful = new LruCache<string, number>(wastefulMax, () => 1);

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
  take(socket: Socket): { readonly key: string; readonly standing: Standing } {
    const peer = this.#edge.peer(socket.remoteAddress);
    const isInLine = Boolean(this.#edge.options.tls);
    const end = endOf(socket);
    const slot = new Slot(socket, { peer, isInLine });
    this.#taken.set(end, slot);
    this.#crowd.add(peer.key, slot);
    if (isInLine) this.#handshakes.add(peer.key, slot);
    socket.once("close", () => {
      this.#leave(slot);
      if (this.#taken.get(end) === slot) this.#taken.delete(end);
    });
    this.#makeRoom(slot);
    // A client that has gone already has no address to be told apart by.
    if (socket.remoteAddress === undefined) slot.destroy();
    return { key: peer.key, standing: this.#standing(peer) };
  }

  /** A connection of a peer was ended because of what it sent without a request. */
  wasWasteful({ key }: Peer): void {
    this.#wasteful.put(key, performance.now());
  }

  /** The TLS handshake of a socket begins. */
  begun(socket: Socket): void {
    const slot = this.#taken.get(endOf(socket));
    if (slot === undefined) return;
    slot.isInLine = false;
    slot.sinceMs = performance.now();
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
    for (const { connection } of this.#crowd.of(peer.key)) if (connection?.isHttp2) sessions++;
    return sessions;
  }

  /** Closes all of them. */
  destroy(): void {
    for (const slot of this.#taken.values()) slot.destroy();
  }

  #standing(peer: Peer): Standing {
    if (this.#edge.isMany(peer)) return "few";
    const wastefulMs = this.#wasteful.get(peer.key) ?? -Infinity;
    if (performance.now() - wastefulMs < wastefulForMs) return "wasteful";
    this.#wasteful.drop(peer.key);
    return this.#crowd.of(peer.key).size > fewMax ? "many" : "few";
  }

  #makeRoom(newcomer: Slot): void {
    const { connectionsMax, handshakesMax } = this.#edge.bounds;
    const { peer } = newcomer;
    if (this.#crowd.of(peer.key).size > this.#edge.connectionsOfAddressMax(peer)) {
      this.#shed(this.#crowd.of(peer.key), newcomer);
    } else if (this.#crowd.size > connectionsMax) {
      this.#shed(this.#crowd.all(), newcomer);
    }
    if (this.#handshakes.size > handshakesMax) this.#shed(this.#handshakes.all(), newcomer);
  }

  #shed(line: Iterable<Slot>, newcomer: Slot): void {
    const slot = firstToGo(line, newcomer, this.#edge.bounds.slotPatienceMs) ?? newcomer;
    this.#leave(slot);
    slot.destroy();
  }

  #leave(slot: Slot): void {
    this.#crowd.remove(slot.peer.key, slot);
    this.#handshakes.remove(slot.peer.key, slot);
  }
}

function firstToGo(line: Iterable<Slot>, newcomer: Slot, patienceMs: number): Slot | null {
  let best: { readonly slot: Slot; readonly rank: number } | null = null;
  let seen = 0;
  for (const slot of line) {
    if (++seen > candidatesMax) break;
    const rank = slot === newcomer ? null : slot.rank(patienceMs);
    if (rank === 0) return slot;
    if (rank !== null && rank < (best?.rank ?? Infinity)) best = { slot, rank };
  }
  return best?.slot ?? null;
}

function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
