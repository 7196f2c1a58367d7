/**
 * One kept-alive HTTP/1.1 connection: one request at a time, no pipelining.
 *
 *     connecting ──▶ handshake ──▶ greeting ──▶ sent (and again)
 *
 * Before its first request it may have to be greeted: a request that changes nothing has to be answered. Only then it is
 * known that the server has let this client in: under TLS 1.3 a server refuses a client's certificate when the client's
 * handshake is over, and what was written until then is lost.
 *
 * @module
 */

import type { Socket } from "node:net";
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
export type Stage = "waiting" | "connecting" | "handshake" | "greeting" | "sent";

/** What a new connection is asked first. */
export interface Greeting {
  /** Head and body in one text; it must change nothing, since it comes as often as connections are made. */
  readonly request: string;
  /** Why the answer is not good enough, as a code; `null` when it is. */
  readonly fault: (response: Response) => string | null;
  /** The connection is open, and this is answered, within so long, or it is cut. */
  readonly readyMs: number;
}

/** Whom a connection tells of its state; each is called before the exchange is settled. */
export interface ConnectionHooks {
  /** It can take the next request. */
  readonly onIdle: (connection: ClientConnection) => void;
  /** It is gone; called once. */
  readonly onGone: (connection: ClientConnection) => void;
}

/** How a connection begins. */
export interface Beginning {
  /** The socket's event that says that it may be written to. */
  readonly opened: "connect" | "secureConnect";
  readonly greeting?: Greeting;
}

// Without a word of the server's: Node's own servers close after 5 s, others later.
const idleMsDefault = 4_000;
// The server's clock starts when it has written, ours when we have read: a margin for that and for the way.
const idleMarginMs = 1_000;
// However long the server keeps it: what stands between may forget a silent connection sooner.
const idleMsMax = 60_000;

/** A connection, from its opening on. The first request may be given to it at once. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #hooks: ConnectionHooks;
  readonly #parser = new ResponseParser();
  readonly #greeting: Greeting | null;
  readonly #readyTimer: ReturnType<typeof setTimeout> | undefined;
  #request: string | null = null;
  #settle: ((answer: Answer) => void) | null = null;
  #onPart: ((soFar: Response) => void) | null = null;
  #stage: Stage = "connecting";
  #isReady = false;
  #isGone = false;
  #isRetired = false;
  #idleUntilMs = 0;

  /** `socket` has just been made and connects. */
  constructor(socket: Socket, options: ConnectionHooks & Beginning) {
    this.#socket = socket;
    this.#hooks = options;
    this.#greeting = options.greeting ?? null;
    this.#readyTimer = this.#greeting === null
      ? undefined
      : setTimeout(() => this.fail("ETIMEDOUT"), this.#greeting.readyMs);
    socket.setNoDelay(true);
    socket.once("connect", () => this.#stage = "handshake");
    socket.once(options.opened, () => this.#greet());
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error: Error) => this.fail(codeOf(error)));
    socket.on("close", () => this.fail("ECONNRESET"));
  }

  /**
   * Whether the next request may go out on it: nothing says that the server has closed it, and the server is not
   * about to.
   *
   * Chosen: a request that fails on a connection that was used before is not sent again on another one, although
   * it is idempotent, because nobody can tell whether the server has read it: an attempt is one request. So
   * connections are left alone before the server closes them; what remains is the moment in which both happen
   * at once, and it is an attempt like any other that got no answer.
   */
  isUsable(nowMs: number): boolean {
    return !this.#isGone && nowMs < this.#idleUntilMs && this.#socket.writable && !this.#socket.readableEnded;
  }

  /**
   * Sends a request, head and body in one text, and calls `settle` once; before that `onPart` with each part of a
   * response that is not whole yet, from its head on. The request may be the greeting itself.
   */
  run(
    request: string,
    settle: (answer: Answer) => void,
    onPart: ((soFar: Response) => void) | null = null,
  ): void {
    this.#request = request;
    this.#settle = settle;
    this.#onPart = onPart;
    if (this.#isReady) this.#write();
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

  #greet(): void {
    if (this.#greeting === null) return this.#beReady();
    this.#stage = "greeting";
    this.#socket.write(this.#greeting.request, "utf8");
  }

  #greeted(greeting: Greeting): void {
    const { response, hasSurplus } = this.#parser;
    const found = greeting.fault(response) ?? (response.head.isPersistent && !hasSurplus ? null : "ENOTKEPT");
    if (found !== null) return this.fail(found);
    const isAll = this.#request === greeting.request;
    if (isAll) this.#request = null;
    else this.#parser.reset();
    this.#beReady();
    if (isAll) this.#finish();
  }

  #beReady(): void {
    clearTimeout(this.#readyTimer);
    this.#isReady = true;
    this.#write();
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
    try {
      if (this.#parser.push(chunk)) return this.#whole();
      const { soFar } = this.#parser;
      if (soFar !== null && this.#isReady) this.#onPart?.(soFar);
    } catch (error) {
      this.fail(codeOf(error));
    }
  }

  #whole(): void {
    if (this.#isReady || this.#greeting === null) this.#finish();
    else this.#greeted(this.#greeting);
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
    else {
      const keptMs = keepAliveMs === null ? idleMsDefault : Math.max(0, keepAliveMs - idleMarginMs);
      this.#idleUntilMs = performance.now() + Math.min(keptMs, idleMsMax);
      this.#hooks.onIdle(this);
    }
    settle?.({ kind: "answered", response });
  }

  #destroy(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#readyTimer);
    this.#socket.destroy();
    this.#hooks.onGone(this);
  }
}

/** The error's code, for people and figures; `EUNKNOWN` when it has none. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "EUNKNOWN";
}
