/**
 * One connection to one address of a host, over TLS, and what has to be known of it to use it again.
 *
 * @module
 */

import type { Socket } from "node:net";
import { type Answer, ClientConnection } from "../http/outbound/client_connection.ts";
import type { Response } from "../http/outbound/response_parser.ts";

/** How a connection is made, and who is told of it. */
export interface HostConnectionOptions {
  readonly address: string;
  /** Begins to connect over TLS; may throw. */
  readonly connect: (address: string) => Socket;
  /** Asked of the address that the connection has in the end. */
  readonly mayCall: (address: string) => boolean;
  /** How long it may take to connect, the handshake left out; `null`: as long as its request. */
  readonly connectTimeoutMs: number | null;
  /** It can take the next request. */
  readonly onIdle: (connection: HostConnection) => void;
  /** It is gone; called once. */
  readonly onGone: (connection: HostConnection) => void;
}

/** A connection to an address that may not be called, which the runtime made all the same. */
export const addressRefused = "EADDRESSREFUSED";

// Kept however busy it is: after this time the handshake is made again, with the certificate of that day.
const ageMaxMs = 60_000;

/** A connection, from its opening on. The first request may be given to it at once. */
export class HostConnection {
  readonly address: string;
  readonly #connection: ClientConnection;
  readonly #openedAtMs = performance.now();
  #requests = 0;
  #isHeard = false;

  constructor(options: HostConnectionOptions) {
    const { address, connect, mayCall, connectTimeoutMs, onIdle, onGone } = options;
    this.address = address;
    const socket = connect(address);
    this.#connection = new ClientConnection(() => socket, {
      opened: "secureConnect",
      onIdle: () => onIdle(this),
      onGone: () => onGone(this),
    });
    const timer = connectTimeoutMs === null
      ? undefined
      : setTimeout(() => this.fail("ETIMEDOUT"), connectTimeoutMs);
    socket.once("connect", () => {
      clearTimeout(timer);
      // Whatever the runtime has made of the address: no byte of an event goes anywhere else.
      if (!mayCall(socket.remoteAddress ?? "")) this.fail(addressRefused);
    });
    socket.on("data", () => this.#isHeard = true);
    socket.once("close", () => clearTimeout(timer));
  }

  /** It carried requests before the present one, to which not a byte has come. */
  get isSilentAfterOthers(): boolean {
    return this.#requests > 1 && !this.#isHeard;
  }

  /** Whether the next request may go out on it. */
  isFresh(nowMs: number): boolean {
    return nowMs < this.#openedAtMs + ageMaxMs && this.#connection.isUsable(nowMs);
  }

  /** Sends a request as {@linkcode ClientConnection.run} does. */
  run(text: string, settle: (answer: Answer) => void, onPart: (soFar: Response) => void): void {
    this.#requests += 1;
    this.#isHeard = false;
    this.#connection.run(text, settle, onPart);
  }

  /** Lets it go after the request that is under way, or now. */
  retire(): void {
    this.#connection.retire();
  }

  /** Cuts it. */
  fail(reason: string): void {
    this.#connection.fail(reason);
  }
}
