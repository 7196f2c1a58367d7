/**
 * The answers over HTTP/2 that their clients have not taken, and what a client may have that leaves many.
 *
 * @module
 */

import { Crowd } from "./crowd.ts";
import type { Edge, Peer } from "./edge.ts";
import type { OpenExchange, ServerConnection } from "./server_connection.ts";

/**
 * An address's HTTP/2 connections with all the streams there are, and the streams at once of each that is opened beside
 * them, for as long as it lives. Chosen: 2 and 16, because HTTP/2 needs one connection; 1,000 that take nothing of 100
 * answers each took 106 MiB on Node and 159 on Deno with 100 streams for all of them, and 39 and 51 so.
 */
const fullSessionsMax = 2;
const furtherStreamsMax = 16;

/** Streams at once of a connection that is made by who leaves answers waiting, while half of them wait that may. */
const pressedStreamsMax = 4;

/** A connection that has to go. */
export interface Expelled {
  readonly connection: ServerConnection;
  /** Its address leaves many answers waiting, and is known for it; another one was just the first to go. */
  readonly isWasteful: boolean;
}

/** The untaken answers of one listener. What it holds is bounded by `untakenMax` and `untakenOfAddressMax`. */
export class Untaken {
  readonly #edge: Edge;
  readonly #crowd = new Crowd<OpenExchange>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /**
   * An answer, or the next piece of it, is given to the connection, where it may wait for as long as the client likes:
   * one too many costs the connection of the one that has waited longest, at the address that has the most.
   */
  given(exchange: OpenExchange): Expelled | null {
    const { peer } = exchange.connection;
    this.#crowd.remove(peer.key, exchange);
    this.#crowd.add(peer.key, exchange);
    const ofAddress = this.#crowd.of(peer.key);
    if (ofAddress.size > this.#edge.untakenOfAddressMax(peer)) return this.#first(ofAddress);
    if (this.#crowd.size > this.#edge.bounds.untakenMax) return this.#first(this.#crowd.all());
    return null;
  }

  /** An answer was taken, or its connection is gone. */
  ended(exchange: OpenExchange): void {
    this.#crowd.remove(exchange.connection.peer.key, exchange);
  }

  /** How many streams a new connection may have at once, the `sessions`th of its address. */
  streamsMax(peer: Peer, sessions: number): number {
    const { streamsMax, untakenMax } = this.#edge.bounds;
    const isPressing = this.#crowd.of(peer.key).size > 0;
    if (isPressing && this.#crowd.size >= untakenMax / 2) return pressedStreamsMax;
    return sessions > fullSessionsMax ? Math.min(furtherStreamsMax, streamsMax) : streamsMax;
  }

  #first(line: Iterable<OpenExchange>): Expelled | null {
    for (const { connection } of line) {
      const { peer } = connection;
      const isWasteful = this.#crowd.of(peer.key).size > this.#edge.untakenOfAddressMax(peer) / 4;
      return { connection, isWasteful };
    }
    return null;
  }
}
