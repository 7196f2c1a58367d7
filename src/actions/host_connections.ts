/**
 * The connections to one host name and port, and the requests that are on their way to it.
 *
 *     waiting ──▶ connecting ──▶ handshake ──▶ sent ──▶ idle ──▶ sent …
 *     for the tenant's turn                              │
 *                                                        └──▶ gone, after its time
 *
 * @module
 */

import type { Socket } from "node:net";
import { type Answer, codeOf, type Stage } from "../http/outbound/client_connection.ts";
import type { Response } from "../http/outbound/response_parser.ts";
import { FairQueue } from "../http/outbound/fair_queue.ts";
import { HostConnection } from "./host_connection.ts";

/** A request. */
export interface HostRequest {
  /** Whose it is. */
  readonly tenant: string;
  /** Head and body. */
  readonly text: string;
  /** From now to the end of its answer. */
  readonly timeoutMs: number;
  /** Called with each part of an answer that is not whole yet, from its head on; `cut` gives up the rest. */
  readonly onPart: (soFar: Response, cut: () => void) => void;
}

/** What became of it. */
export type HostAnswer = Extract<Answer, { kind: "answered" }> | NoAnswer;

/** There is none, or not all of it. */
export interface NoAnswer {
  readonly kind: "failed";
  /** An error code. */
  readonly reason: string;
  readonly stage: Stage;
  /** The request's time was over; the stage is then what it went to. */
  readonly isLate: boolean;
}

/** What a host needs. */
export interface HostOptions {
  /** Begins to connect to an address over TLS; may throw, which fails the request that needs it. */
  readonly connect: (address: string) => Socket;
  /** Asked of the address that a connection has in the end. */
  readonly mayCall: (address: string) => boolean;
  readonly onIdle: (connection: HostConnection) => void;
  /** It is idle no more. */
  readonly onTaken: (connection: HostConnection) => void;
  /** It has neither a connection nor a request. */
  readonly onEmpty: () => void;
}

/**
 * Connections to one host name and port, and so requests in flight to it. Tenants share them as they share the deliveries
 * at once: one that is alone at the host gets half, and what hangs of one keeps no other waiting that is at the same host.
 *
 * Chosen: as many as there are deliveries at once by default, so that what the deliveries' shares have let through does
 * not wait here again.
 */
export const connectionsPerHostMax = 128;
// Of a request's time: what has found no connection by then would be cut in the midst of its answer.
const waitShare = 3 / 4;
// Time for a connection to one of several addresses before the next one is tried.
const addressTimeoutMs = 2_500;

interface Pending extends HostRequest {
  readonly addresses: readonly string[];
  readonly settle: (answer: HostAnswer) => void;
  /** Addresses to which a connection was tried. */
  readonly tried: Set<string>;
  connection: HostConnection | null;
  isStarted: boolean;
  isLate: boolean;
  isRepeat: boolean;
}

/** Sends requests to one host name and port; those of a tenant that has its share in flight wait in their order. */
export class HostConnections {
  readonly #options: HostOptions;
  readonly #open = new Set<HostConnection>();
  /** The one that was used last is the last. */
  readonly #idle: HostConnection[] = [];
  readonly #queue = new FairQueue<Pending>({
    allowed: connectionsPerHostMax,
    start: (pending) => {
      pending.isStarted = true;
      this.#start(pending);
    },
  });
  #unsettled = 0;
  /** Of several addresses the first may be dead: this one answered. */
  #goodAddress: string | null = null;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  /**
   * Sends a request, on a kept connection to one of the addresses or on a new one; never rejects.
   *
   * A kept connection that the other side closes under a request, before a byte of the answer, says nothing about the
   * request: it is sent once more at once, on a new connection and within the same time. The other side may have read it
   * all the same; it knows the repeat by its `webhook-id`.
   */
  send(addresses: readonly string[], request: HostRequest): Promise<HostAnswer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#cut(pending), request.timeoutMs);
      const waitTimer = setTimeout(
        () => pending.isStarted || this.#cut(pending),
        waitShare * request.timeoutMs,
      );
      const settle = (answer: HostAnswer) => {
        clearTimeout(timer);
        clearTimeout(waitTimer);
        resolve(answer);
        this.#queue.remove(pending);
        this.#unsettled -= 1;
        this.#checkEmpty();
      };
      const pending: Pending = {
        ...request,
        ...{ addresses, settle, tried: new Set(), connection: null },
        ...{ isStarted: false, isLate: false, isRepeat: false },
      };
      this.#unsettled += 1;
      this.#queue.add(pending);
    });
  }

  #cut(pending: Pending): void {
    pending.isLate = true;
    if (pending.connection !== null) return pending.connection.fail("ETIMEDOUT");
    pending.settle({ kind: "failed", reason: "ETIMEDOUT", stage: "waiting", isLate: true });
  }

  #start(pending: Pending): void {
    // What was closed under a request goes to a new connection where there may be one more: the idle ones may be closed too.
    const mayBeNew = pending.isRepeat && this.#open.size < connectionsPerHostMax;
    const idle = mayBeNew ? null : this.#takeIdle(pending.addresses);
    if (idle !== null) return this.#run(idle, pending);
    // With none idle there are no more than requests in flight.
    this.#connect(pending);
  }

  #takeIdle(addresses: readonly string[]): HostConnection | null {
    const nowMs = performance.now();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      this.#options.onTaken(idle);
      // To an address that the name has lost, or that may not be called any more, nothing goes.
      if (idle.isFresh(nowMs) && addresses.includes(idle.address)) return idle;
      idle.retire();
    }
    return null;
  }

  #connect(pending: Pending): void {
    const { connect, mayCall } = this.#options;
    const { addresses, tried } = pending;
    const address = this.#nextAddress(pending);
    tried.add(address);
    let connection: HostConnection;
    try {
      connection = new HostConnection({
        ...{ address, connect, mayCall },
        connectTimeoutMs: tried.size < addresses.length ? addressTimeoutMs : null,
        onIdle: (idle) => this.#onIdle(idle),
        onGone: (gone) => this.#onGone(gone),
      });
    } catch (error) {
      return pending.settle({ kind: "failed", reason: codeOf(error), stage: "connecting", isLate: false });
    }
    this.#open.add(connection);
    this.#run(connection, pending);
  }

  #nextAddress({ addresses, tried }: Pending): string {
    const good = this.#goodAddress;
    if (good !== null && addresses.includes(good) && !tried.has(good)) return good;
    return addresses.find((address) => !tried.has(address)) ?? addresses[0] as string;
  }

  #run(connection: HostConnection, pending: Pending): void {
    pending.connection = connection;
    connection.run(pending.text, (answer) => {
      pending.connection = null;
      if (answer.kind === "failed") return this.#fail(pending, connection, answer);
      this.#goodAddress = connection.address;
      pending.settle(answer);
    }, (soFar) => pending.onPart(soFar, () => connection.fail("ECANCELED")));
  }

  #fail(
    pending: Pending,
    { isSilentAfterOthers }: HostConnection,
    { reason, stage }: Extract<Answer, { kind: "failed" }>,
  ): void {
    const { isLate, isRepeat, tried, addresses } = pending;
    const isClosedUnder = isSilentAfterOthers && !isRepeat;
    const isElsewhere = stage === "connecting" && tried.size < addresses.length;
    if (!isLate && (isClosedUnder || isElsewhere)) {
      pending.isRepeat ||= isClosedUnder;
      return this.#start(pending);
    }
    pending.settle({ kind: "failed", reason, stage, isLate });
  }

  #onIdle(idle: HostConnection): void {
    this.#idle.push(idle);
    this.#options.onIdle(idle);
  }

  #onGone(gone: HostConnection): void {
    this.#open.delete(gone);
    this.#options.onTaken(gone);
    const at = this.#idle.indexOf(gone);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#checkEmpty();
  }

  #checkEmpty(): void {
    if (this.#open.size === 0 && this.#unsettled === 0) this.#options.onEmpty();
  }
}
