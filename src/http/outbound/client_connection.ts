/**
 * One kept-alive HTTP/1.1 connection: one request at a time, no pipelining.
 *
 *     connecting ──▶ handshake ──▶ settling ──▶ sent (and again)
 *
 * Under TLS 1.3 a server refuses a client's certificate when the client's handshake is over, and what was written until
 * then is lost. So before its first request a connection may have to stay open for a moment.
 */

import type { OnReadOpts, Socket } from "node:net";
import { type Response, ResponseParser } from "./response_parser.ts";

/** The result of an exchange. */
export type Answer =
  | { readonly kind: "answered"; readonly response: Response }
  /**
   * The response is incomplete; the reason is an error code, `status` what arrived. Before the stage `sent`, nothing
   * was written.
   */
  | {
    readonly kind: "failed";
    readonly status: number | null;
    readonly reason: string;
    readonly stage: Stage;
  };

/** The stage of an exchange; `waiting`: for a free connection. */
export type Stage = "waiting" | "connecting" | "handshake" | "settling" | "sent";

/** A failed request. */
export type Failed = Extract<Answer, { readonly kind: "failed" }>;

/** How a connection starts, and how long it is used. */
export interface Beginning {
  /** The event after which the socket is writable. */
  readonly opened: "connect" | "secureConnect";
  /**
   * Delay before the first request, and at least as long as opening took, for the server to refuse the client. Default:
   * none.
   */
  readonly settleMs?: number;
  /** Time to become ready. Default: the request's. */
  readonly readyMs?: number;
  /** Validates the actual address. Default: any. */
  readonly mayCall?: (address: string) => boolean;
  /** Maximum age for new requests. Default: none. */
  readonly ageMaxMs?: number;
}

/** Callbacks to the pool, called before the exchange settles. */
export interface ConnectionOptions extends Beginning {
  readonly address: string;
  /** For the TCP handshake. Default: the request's. */
  readonly connectTimeoutMs?: number;
  /** Ready for the next request. */
  readonly onIdle: (connection: ClientConnection) => void;
  readonly onGone: (connection: ClientConnection) => void;
}

/** The runtime connected to a forbidden address. */
export const addressRefused = "EADDRESSREFUSED";

// Without a hint from the server; Node's servers close after 5 s.
const idleMsDefault = 4_000;
// The server's clock starts at its write, ours at our read.
const idleMarginMs = 1_000;
// Middleboxes may forget silent connections sooner than the server.
const idleMsMax = 60_000;

/** A shared read buffer, copied out at once: event-driven streams allocate 64 KiB per response. */
const readRoom = new Uint8Array(16 * 1024);

/** A connection; it accepts the first request while opening. */
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
  #settle: ((answer: Answer) => void) | null = null;
  #onPart: ((soFar: Response) => void) | null = null;
  #stage: Stage = "connecting";
  #requests = 0;
  #isHeard = false;
  #isReady = false;
  #isGone = false;
  #isRetired = false;
  #idleUntilMs = 0;

  /** `connect` creates the socket; its exceptions pass through. */
  constructor(connect: (onread: OnReadOpts) => Socket, options: ConnectionOptions) {
    const socket = connect({
      buffer: readRoom,
      callback: (bytes, room) => {
        this.#read(Buffer.from(room.subarray(0, bytes)));
        return true;
      },
    });
    this.address = options.address;
    this.#socket = socket;
    this.#options = options;
    const { opened, settleMs, mayCall } = options;
    this.#readyTimer = this.#cutAfter(options.readyMs);
    const connectTimer = this.#cutAfter(options.connectTimeoutMs);
    socket.setNoDelay(true);
    let connectedAtMs = 0;
    socket.once("connect", () => {
      clearTimeout(connectTimer);
      this.#stage = "handshake";
      connectedAtMs = performance.now();
      // No request bytes go to any other address.
      if (mayCall !== undefined && !mayCall(socket.remoteAddress ?? "")) this.fail(addressRefused);
    });
    socket.once(opened, () => {
      if (settleMs === undefined) return this.#beReady();
      this.#stage = "settling";
      const waitMs = Math.max(settleMs, performance.now() - connectedAtMs);
      this.#settleTimer = setTimeout(() => this.#beReady(), waitMs);
    });
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error: Error) => this.fail(codeOf(error)));
    socket.on("close", () => {
      clearTimeout(connectTimer);
      this.fail("ECONNRESET");
    });
  }

  #cutAfter(ms: number | undefined): ReturnType<typeof setTimeout> | undefined {
    return ms === undefined ? undefined : setTimeout(() => this.fail("ETIMEDOUT"), ms);
  }

  /**
   * Whether the connection is open and not about to be closed by the server.
   *
   * Chosen: connections are left before the server closes them, because a request that fails on a reused connection may
   * have been read. A small race remains.
   */
  isUsable(nowMs: number): boolean {
    return !this.#isGone && nowMs < this.#idleUntilMs && this.#socket.writable &&
      !this.#socket.readableEnded &&
      nowMs < this.#openedAtMs + (this.#options.ageMaxMs ?? Infinity);
  }

  /** It is reused, and the current request has had no response bytes. */
  get isSilentAfterOthers(): boolean {
    return this.#requests > 1 && !this.#isHeard;
  }

  /** Sends a request (head and body in one text); calls `onPart` with each partial response, then `settle` once. */
  run(
    request: string,
    settle: (answer: Answer) => void,
    onPart: ((soFar: Response) => void) | null = null,
  ): void {
    this.#request = request;
    this.#settle = settle;
    this.#onPart = onPart;
    this.#requests += 1;
    this.#isHeard = false;
    if (this.#isReady) this.#write();
  }

  /** Opens without sending; calls `settle` once, with `null` when ready. */
  open(settle: (failed: Failed | null) => void): void {
    this.#settle = (answer) => settle(answer as Failed);
    this.#onReady = () => {
      this.#settle = null;
      if (this.#isRetired) this.#destroy();
      else this.#keep(null);
      settle(null);
    };
  }

  /** Closes after the current request. */
  retire(): void {
    this.#isRetired = true;
    if (this.#settle === null) this.#destroy();
  }

  /** Destroys the connection; `reason` settles the current exchange. */
  fail(reason: string): void {
    const settle = this.#settle;
    const stage = this.#stage;
    const { status } = this.#parser;
    this.#settle = null;
    this.#destroy();
    settle?.({ kind: "failed", status, reason, stage });
  }

  #beReady(): void {
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
    // An unsolicited response: the server closes or is confused.
    if (this.#settle === null) return this.#destroy();
    if (!this.#isReady) return this.fail("EPROTO");
    this.#isHeard = true;
    try {
      if (this.#parser.push(chunk)) return this.#finish();
      const { soFar } = this.#parser;
      if (soFar !== null) this.#onPart?.(soFar);
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
    // The response came before the request was fully sent; the rest would precede the next one.
    const isSent = this.#socket.writableLength === 0;
    if (!isPersistent || hasSurplus || this.#isRetired || !isSent) this.#destroy();
    else this.#keep(keepAliveMs);
    settle?.({ kind: "answered", response });
  }

  #keep(keepAliveMs: number | null): void {
    const keptMs = keepAliveMs === null ? idleMsDefault : Math.max(0, keepAliveMs - idleMarginMs);
    this.#idleUntilMs = performance.now() + Math.min(keptMs, idleMsMax);
    this.#options.onIdle(this);
  }

  #destroy(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#readyTimer);
    clearTimeout(this.#settleTimer);
    this.#socket.destroy();
    this.#options.onGone(this);
  }
}

/** The error's code, or `EUNKNOWN`. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "EUNKNOWN";
}
