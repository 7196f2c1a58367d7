/**
 * A persistent HTTP/1.1 connection that sends one request at a time. The first can be delayed: with TLS 1.3, a server
 * refuses a client's certificate only after the handshake, and everything written until then is lost.
 */

import type { OnReadOpts, Socket } from "node:net";
import { type Response, ResponseParser } from "./response_parser.ts";

export type RequestResult =
  | { readonly kind: "response"; readonly response: Response }
  /**
   * No complete response. `reason` is an error code; `status` is `null` unless the headers arrived. Before the stage
   * `sent`, nothing was written.
   */
  | {
    readonly kind: "failed";
    readonly status: number | null;
    readonly reason: string;
    readonly stage: Stage;
  };

/** The stage of a request; in `waiting`, it has no connection yet. */
export type Stage = "waiting" | "connecting" | "handshake" | "settling" | "sent";

export type Failed = Extract<RequestResult, { readonly kind: "failed" }>;

/** A connection's timeouts and checks. */
export interface ConnectionLimits {
  /** The socket's event after which data can be written. */
  readonly readyEvent: "connect" | "secureConnect";
  /**
   * The delay before the first request, during which the server may refuse the client; the handshake's duration if that
   * is longer. Default: no delay.
   */
  readonly settleMs?: number;
  /** The timeout for becoming ready. Default: the request's timeout. */
  readonly readyTimeoutMs?: number;
  /** Whether a remote address is permitted. Default: any. */
  readonly isAllowed?: (address: string) => boolean;
  /** The maximum age at which a connection accepts another request. Default: none. */
  readonly ageMaxMs?: number;
}

/** A connection's options; the callbacks run before the request settles. */
interface ConnectionOptions extends ConnectionLimits {
  readonly address: string;
  /** The timeout of the TCP handshake. Default: the request's timeout. */
  readonly connectTimeoutMs?: number;
  readonly onIdle: (connection: ClientConnection) => void;
  readonly onClosed: (connection: ClientConnection) => void;
}

/** The error code for a forbidden address. */
export const addressRefused = "EADDRESSREFUSED";

// Applies if the server announces no timeout; Node's servers close after 5 s.
const idleMsDefault = 4_000;
// The server's timer starts when it writes; ours starts when we read.
const idleMarginMs = 1_000;
// Middleboxes may drop silent connections sooner than the server.
const idleMsMax = 60_000;

/** The read buffer that all connections share; Node's streams would allocate 64 KiB per response. */
const readBuffer = new Uint8Array(16 * 1024);

/** A connection. A request passed to `send` before the connection is ready is held until it is. */
export class ClientConnection {
  readonly address: string;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #parser = new ResponseParser();
  readonly #openedAtMs = performance.now();
  readonly #readyTimer: ReturnType<typeof setTimeout> | undefined;
  #settleTimer: ReturnType<typeof setTimeout> | undefined;
  #onReady: (() => void) | null = null;
  #request: string | null = null;
  #settle: ((result: RequestResult) => void) | null = null;
  #onPartial: ((partial: Response) => void) | null = null;
  #stage: Stage = "connecting";
  #requests = 0;
  #hasResponseBytes = false;
  #isReady = false;
  #isClosed = false;
  #isRetired = false;
  #idleUntilMs = 0;

  /** Creates the socket with `connect`; throws what `connect` throws. */
  constructor(connect: (onread: OnReadOpts) => Socket, options: ConnectionOptions) {
    const socket = connect({
      buffer: readBuffer,
      callback: (length, bytes) => {
        this.#read(Buffer.from(bytes.subarray(0, length)));
        return true;
      },
    });
    this.address = options.address;
    this.#socket = socket;
    this.#options = options;
    const { readyEvent, settleMs, isAllowed } = options;
    this.#readyTimer = this.#failAfter(options.readyTimeoutMs);
    const connectTimer = this.#failAfter(options.connectTimeoutMs);
    socket.setNoDelay(true);
    let connectedAtMs = 0;
    socket.once("connect", () => {
      clearTimeout(connectTimer);
      this.#stage = "handshake";
      connectedAtMs = performance.now();
      if (isAllowed !== undefined && !isAllowed(socket.remoteAddress ?? "")) this.fail(addressRefused);
    });
    socket.once(readyEvent, () => {
      if (settleMs === undefined) return this.#becomeReady();
      this.#stage = "settling";
      const waitMs = Math.max(settleMs, performance.now() - connectedAtMs);
      this.#settleTimer = setTimeout(() => this.#becomeReady(), waitMs);
    });
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error: Error) => this.fail(codeOf(error)));
    socket.on("close", () => {
      clearTimeout(connectTimer);
      this.fail("ECONNRESET");
    });
  }

  #failAfter(ms: number | undefined): ReturnType<typeof setTimeout> | undefined {
    return ms === undefined ? undefined : setTimeout(() => this.fail("ETIMEDOUT"), ms);
  }

  /**
   * Whether the connection accepts another request and the server is not about to close it. Chosen: we close first,
   * because a request that fails on a reused connection may have reached the server. A small race remains.
   */
  isUsable(nowMs: number): boolean {
    return !this.#isClosed && nowMs < this.#idleUntilMs && this.#socket.writable &&
      !this.#socket.readableEnded &&
      nowMs < this.#openedAtMs + (this.#options.ageMaxMs ?? Infinity);
  }

  /** Whether the connection is reused and no byte of the current response has arrived. */
  get isReusedWithoutResponse(): boolean {
    return this.#requests > 1 && !this.#hasResponseBytes;
  }

  /** Sends a request (head and body); calls `onPartial` with each partial response, then `settle` once. */
  send(
    request: string,
    settle: (result: RequestResult) => void,
    onPartial: ((partial: Response) => void) | null = null,
  ): void {
    this.#request = request;
    this.#settle = settle;
    this.#onPartial = onPartial;
    this.#requests += 1;
    this.#hasResponseBytes = false;
    if (this.#isReady) this.#write();
  }

  /** Opens the connection without a request; calls `settle` once, with `null` if the connection is ready. */
  open(settle: (failed: Failed | null) => void): void {
    this.#settle = (result) => settle(result as Failed);
    this.#onReady = () => {
      this.#settle = null;
      if (this.#isRetired) this.#destroy();
      else this.#becomeIdle(null);
      settle(null);
    };
  }

  /** Closes the connection after the current request. */
  retire(): void {
    this.#isRetired = true;
    if (this.#settle === null) this.#destroy();
  }

  /** Destroys the connection; the current request fails with `reason`. */
  fail(reason: string): void {
    const settle = this.#settle;
    const stage = this.#stage;
    const { status } = this.#parser;
    this.#settle = null;
    this.#destroy();
    settle?.({ kind: "failed", status, reason, stage });
  }

  #becomeReady(): void {
    clearTimeout(this.#readyTimer);
    this.#isReady = true;
    if (this.#onReady === null) return this.#write();
    const onReady = this.#onReady;
    this.#onReady = null;
    onReady();
  }

  #write(): void {
    if (this.#request === null) return;
    this.#stage = "sent";
    this.#socket.write(this.#request, "utf8");
    this.#request = null;
  }

  #read(chunk: Buffer): void {
    // An unsolicited response, such as a 408 before the server closes.
    if (this.#settle === null) return this.#destroy();
    if (!this.#isReady) return this.fail("EPROTO");
    this.#hasResponseBytes = true;
    try {
      if (this.#parser.push(chunk)) return this.#finish();
      const { partial } = this.#parser;
      if (partial !== null) this.#onPartial?.(partial);
    } catch (error) {
      this.fail(codeOf(error));
    }
  }

  #end(): void {
    if (this.#isReady && this.#settle !== null && this.#parser.end()) this.#finish();
    else this.fail("ECONNRESET");
  }

  #finish(): void {
    const { response, hasSurplus } = this.#parser;
    const settle = this.#settle;
    this.#settle = null;
    this.#parser.reset();
    const { isPersistent, keepAliveMs } = response.head;
    // After an early response, the next request would follow the unsent rest of this one.
    const isSent = this.#socket.writableLength === 0;
    if (!isPersistent || hasSurplus || this.#isRetired || !isSent) this.#destroy();
    else this.#becomeIdle(keepAliveMs);
    settle?.({ kind: "response", response });
  }

  #becomeIdle(keepAliveMs: number | null): void {
    const idleMs = keepAliveMs === null ? idleMsDefault : Math.max(0, keepAliveMs - idleMarginMs);
    this.#idleUntilMs = performance.now() + Math.min(idleMs, idleMsMax);
    this.#options.onIdle(this);
  }

  #destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#readyTimer);
    clearTimeout(this.#settleTimer);
    this.#socket.destroy();
    this.#options.onClosed(this);
  }
}

/** Returns an error's code, or `EUNKNOWN`. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "EUNKNOWN";
}
