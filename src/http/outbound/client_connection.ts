/**
 * One kept-alive HTTP/1.1 connection: one request at a time, no pipelining.
 *
 *     connecting ──▶ handshake ──▶ settling ──▶ sent (and again)
 *
 * Under TLS 1.3 a server refuses a client's certificate when the client's handshake is over, and what was written until
 * then is lost. So before its first request a connection may have to stay open for a moment.
 *
 * @module
 */

import type { OnReadOpts, Socket } from "node:net";
import { type Response, ResponseParser } from "./response_parser.ts";

/** What became of an exchange. */
export type Answer =
  /** The whole response is there. */
  | { readonly kind: "answered"; readonly response: Response }
  /**
   * It is not, for a reason that is an error code; `status` is what had arrived of it. Unless the stage is `sent`,
   * nothing of the request was handed to a connection.
   */
  | {
    readonly kind: "failed";
    readonly status: number | null;
    readonly reason: string;
    readonly stage: Stage;
  };

/** How far an exchange has come; `waiting`: for a connection that is free. */
export type Stage = "waiting" | "connecting" | "handshake" | "settling" | "sent";

/** A request that failed. */
export type Failed = Extract<Answer, { readonly kind: "failed" }>;

/** How a connection begins, and how long it is used. */
export interface Beginning {
  /** The socket's event that says that it may be written to. */
  readonly opened: "connect" | "secureConnect";
  /**
   * After it has opened, nothing goes out for so long, nor for as long again as opening has taken: a refusal of this
   * client comes in that time. Left out: there is nothing to refuse.
   */
  readonly settleMs?: number;
  /** The connection is ready for its first request within this time, or it is cut. Left out: in the request's. */
  readonly readyMs?: number;
  /** Asked of the address that the connection has in the end. Left out: any may be called. */
  readonly mayCall?: (address: string) => boolean;
  /** However busy it is, a connection that is older takes no further request. Left out: there is no such age. */
  readonly ageMaxMs?: number;
}

/** What a connection needs of its pool; `onIdle` and `onGone` are called before the exchange is settled. */
export interface ConnectionOptions extends Beginning {
  readonly address: string;
  /** For the handshake of TCP alone. Left out: as long as the request. */
  readonly connectTimeoutMs?: number;
  /** It can take the next request. */
  readonly onIdle: (connection: ClientConnection) => void;
  /** It is gone; called once. */
  readonly onGone: (connection: ClientConnection) => void;
}

/** A connection to an address that may not be called, which the runtime made all the same. */
export const addressRefused = "EADDRESSREFUSED";

// Without a word of the server's: Node's own servers close after 5 s, others later.
const idleMsDefault = 4_000;
// The server's clock starts when it has written, ours when we have read: a margin for that and for the way.
const idleMarginMs = 1_000;
// However long the server keeps it: what stands between may forget a silent connection sooner.
const idleMsMax = 60_000;

/**
 * What has just been read, by whichever connection: it is copied out at once.
 *
 * Chosen: this, because a stream that is read by its events has new memory of 64 KiB for each answer of some bytes.
 */
const readRoom = new Uint8Array(16 * 1024);

/** A connection, from its opening on. The first request may be given to it at once. */
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

  /** `connect` makes a socket, which reads as it is told, or by its events; throws what `connect` throws. */
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
      // Whatever the runtime has made of the address: no byte of a request goes anywhere else.
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
   * Whether the next request may go out on it: nothing says that the server has closed it, and the server is not
   * about to.
   *
   * Chosen: connections are left alone before the server closes them, because nobody can tell whether it has read a
   * request that fails on a connection that was used before. What remains is the moment in which both happen at once.
   */
  isUsable(nowMs: number): boolean {
    return !this.#isGone && nowMs < this.#idleUntilMs && this.#socket.writable &&
      !this.#socket.readableEnded &&
      nowMs < this.#openedAtMs + (this.#options.ageMaxMs ?? Infinity);
  }

  /** It carried requests before the present one, to which not a byte has come. */
  get isSilentAfterOthers(): boolean {
    return this.#requests > 1 && !this.#isHeard;
  }

  /**
   * Sends a request, head and body in one text, and calls `settle` once; before that `onPart` with each part of a
   * response that is not whole yet, from its head on.
   */
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

  /** Sends nothing, and calls `settle` once: with `null` when the first request may go out. */
  open(settle: (failed: Failed | null) => void): void {
    this.#settle = (answer) => settle(answer as Failed);
    this.#onReady = () => {
      this.#settle = null;
      if (this.#isRetired) this.#destroy();
      else this.#keep(null);
      settle(null);
    };
  }

  /** Lets it go after the request that is under way, or now. */
  retire(): void {
    this.#isRetired = true;
    if (this.#settle === null) this.#destroy();
  }

  /** Cuts the connection; `reason` goes to the exchange that is under way, if there is one. */
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
    // An answer to nothing: the server closes, or is confused.
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
    // An answer to a request that is still on its way out: the rest of it would stand before the next one.
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

/** The error's code, for people and figures; `EUNKNOWN` when it has none. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "EUNKNOWN";
}
