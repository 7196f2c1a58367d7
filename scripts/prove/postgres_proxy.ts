/**
 * A TCP proxy that understands PostgreSQL's messages, so that it can cut a connection at an exact place of a commit.
 *
 * @module
 */

import { connect, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/**
 * Where in the call of `accept` a connection can be cut or halted, and whether a batch that is cut there has been committed
 * (`null`: either way). PostgreSQL runs the statement at Execute and commits at Sync; CommandComplete is the answer to the
 * first, ReadyForQuery to the second.
 */
export const places = {
  /** Parse is not forwarded: the server has not seen the statement. It is sent once a connection. */
  before_parse: false,
  /** Bind is not forwarded. */
  before_bind: false,
  /** Bind was forwarded, Execute is not: nothing runs. */
  before_execute: false,
  /** Half of Execute's bytes were forwarded. */
  inside_execute: false,
  /** The statement has run, its locks are held, Sync is not forwarded: nothing is committed. */
  before_commit: false,
  /** Sync was forwarded this moment. */
  during_commit: null,
  /** Nothing of the answer is forwarded. */
  after_commit: true,
  /** A half of the first message of the answer is forwarded. */
  inside_message: true,
  /** The answer up to CommandComplete is forwarded, ReadyForQuery is not. */
  inside_answer: true,
} satisfies Record<string, boolean | null>;

/** One of them. */
export type Place = keyof typeof places;

/** What happens to a connection there: an orderly end, a reset, or a halt until it is released. */
export type Fault = { readonly place: Place; readonly how: "close" | "reset" | "halt" };

/** A connection that stands still. */
export interface Halted {
  release(): void;
}

/** The message at which it is decided. */
function messageOf(place: Place): "P" | "B" | "E" {
  return place === "before_parse" ? "P" : place === "before_bind" ? "B" : "E";
}

/** The statement that commits a batch. */
export const acceptCall = /\baccept\(/;

/** Sync: commits, and asks for ReadyForQuery. */
const syncMessage = Uint8Array.of("S".charCodeAt(0), 0, 0, 0, 4);
/** Flush: has the server answer without a commit. */
const flushMessage = Uint8Array.of("H".charCodeAt(0), 0, 0, 0, 4);

/** One message: its type's letter, or `startup` for the first one, which has none. */
interface Message {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Cuts a stream of bytes into messages. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #startup: boolean;

  constructor(startsWithStartup: boolean) {
    this.#startup = startsWithStartup;
  }

  push(bytes: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
  }

  next(): Message | undefined {
    const typeLength = this.#startup ? 0 : 1;
    if (this.#rest.length < typeLength + 4) return undefined;
    const length = typeLength + this.#rest.readUInt32BE(typeLength);
    if (this.#rest.length < length) return undefined;
    const bytes = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    const type = this.#startup ? "startup" : String.fromCharCode(bytes[0] as number);
    this.#startup = false;
    return { type, bytes };
  }
}

/** The nth of the zero-terminated strings that a message begins with. */
function textAt(bytes: Uint8Array, n: number): string {
  let start = 5;
  for (let skipped = 0; skipped < n; skipped++) start = bytes.indexOf(0, start) + 1;
  return new TextDecoder().decode(bytes.subarray(start, bytes.indexOf(0, start)));
}

/** A parameter of the startup message; empty when it is not there. */
function startupParameter(bytes: Uint8Array, name: string): string {
  const words = new TextDecoder().decode(bytes.subarray(8)).split("\0");
  for (let i = 0; i + 1 < words.length; i += 2) if (words[i] === name) return words[i + 1] ?? "";
  return "";
}

/** A proxy on a loopback port. */
export class PostgresProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  /** Which statements {@linkcode chooseFault} is asked about. */
  watched = acceptCall;
  /**
   * Called at the Execute of each watched statement that comes by; `null` lets it pass, and so does a place that lies
   * before it.
   */
  chooseFault: () => Fault | null = () => null;
  /** A fault that lies before Execute: made at the first message that it is about. */
  early: Fault | null = null;
  /** Whether new connections are taken, or reset at once. */
  acceptsNew = true;
  /** The port on 127.0.0.1 that new connections lead to; those there are stay where they are. */
  targetPort: number;
  #onFault: (halted: Halted) => void = () => {};

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    // noDelay: what is forwarded arrives before what is not.
    this.#server = createServer({ allowHalfOpen: false, noDelay: true }, (client) => {
      if (!this.acceptsNew) {
        client.resetAndDestroy();
        return;
      }
      const server = connect({ port: this.targetPort, host: "127.0.0.1", noDelay: true });
      const link = new Link(client, server, this);
      this.#links.add(link);
      link.closed.then(() => this.#links.delete(link));
    });
  }

  /** Opens a proxy before a server on 127.0.0.1. */
  static async open(targetPort: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(targetPort);
    await new Promise<void>((settle, reject) => {
      proxy.#server.once("error", reject).listen(0, "127.0.0.1", settle);
    });
    return proxy;
  }

  /** The address of a database by way of the proxy. */
  databaseUrl(direct: string): string {
    const url = new URL(direct);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Makes one fault in the next call of `accept`, and returns when it has happened. */
  faultOnce(fault: Fault): Promise<Halted> {
    return new Promise((settle) => {
      this.#onFault = settle;
      if (messageOf(fault.place) !== "E") {
        this.early = fault;
        return;
      }
      this.chooseFault = () => {
        this.chooseFault = () => null;
        return fault;
      };
    });
  }

  /** Takes back what {@linkcode PostgresProxy.faultOnce} has asked for and has not happened. */
  faultNever(): void {
    this.early = null;
    this.chooseFault = () => null;
  }

  /** The fault of a watched statement at one of its messages. */
  faultAt(message: string): Fault | null {
    if (message === "E") {
      const fault = this.chooseFault();
      return fault === null || messageOf(fault.place) !== "E" ? null : fault;
    }
    const fault = this.early;
    if (fault === null || messageOf(fault.place) !== message) return null;
    this.early = null;
    return fault;
  }

  /** A {@linkcode Link} tells that its fault has happened. */
  faulted(halted: Halted): void {
    this.#onFault(halted);
  }

  /** Ends all connections, or those whose `application_name` this is, and returns when they are closed. */
  async cut(applicationName?: string): Promise<void> {
    const links = this.#select(applicationName);
    for (const link of links) link.end("reset");
    await Promise.all(links.map((link) => link.closed));
  }

  /** Forwards nothing more on the connections there are, and ends none of them; new ones work. */
  blackHole(applicationName?: string): void {
    for (const link of this.#select(applicationName)) link.silence();
  }

  /** The connections there are. */
  get connections(): number {
    return this.#links.size;
  }

  #select(applicationName: string | undefined): Link[] {
    return [...this.#links].filter((link) =>
      applicationName === undefined || link.applicationName === applicationName
    );
  }

  /** Ends everything. */
  async close(): Promise<void> {
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    await this.cut();
    await closed;
  }
}

/** One client's connection and ours behind it. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #proxy: PostgresProxy;
  readonly #fromClient: Messages;
  readonly #fromServer = new Messages(false);
  /** The text of prepared statements by name. */
  readonly #statements = new Map<string, string>();
  /** The text of the statement that was bound last. */
  #bound = "";
  /** The fault that the call of `accept` under way is to meet. */
  #fault: Fault | null = null;
  /** Of the answer, until the commit is certain. */
  readonly #withheld: Uint8Array[] = [];
  #silent = false;
  #halted = false;
  applicationName = "";
  readonly closed: Promise<void>;

  constructor(client: Socket, server: Socket, proxy: PostgresProxy) {
    this.#client = client;
    this.#server = server;
    this.#proxy = proxy;
    this.#fromClient = new Messages(true);
    client.on("data", (bytes) => {
      this.#fromClient.push(bytes);
      this.#pump();
    });
    server.on("data", (bytes) => {
      this.#fromServer.push(bytes);
      this.#pump();
    });
    // A silent link does not pass on even the end of a connection: its peer is left to find out.
    client.on("close", () => this.#silent || server.destroy());
    server.on("close", () => this.#silent || client.destroy());
    client.on("error", () => {});
    server.on("error", () => {});
    this.closed = Promise.all(
      [client, server].map((socket) => new Promise<void>((settle) => socket.once("close", () => settle()))),
    ).then(() => {});
  }

  end(how: "close" | "reset"): void {
    this.#silent = false;
    this.#halted = false;
    for (const socket of [this.#client, this.#server]) {
      if (how === "close") socket.destroy();
      else if (!socket.destroyed) socket.resetAndDestroy();
    }
  }

  silence(): void {
    this.#silent = true;
  }

  #pump(): void {
    for (
      const [messages, forward] of [
        [this.#fromClient, this.#toServer],
        [this.#fromServer, this.#toClient],
      ] as const
    ) {
      while (!this.#silent && !this.#halted) {
        const message = messages.next();
        if (message === undefined) break;
        forward.call(this, message);
      }
    }
  }

  #toServer(message: Message): void {
    const { type, bytes } = message;
    if (type === "startup") this.applicationName = startupParameter(bytes, "application_name");
    if (type === "P") {
      this.#statements.set(textAt(bytes, 0), textAt(bytes, 1));
      this.#bound = textAt(bytes, 1);
    }
    if (type === "B") this.#bound = this.#statements.get(textAt(bytes, 1)) ?? "";
    if ((type === "P" || type === "B" || type === "E") && this.#proxy.watched.test(this.#bound)) {
      this.#fault = this.#proxy.faultAt(type);
    }
    const place = this.#fault?.place;
    if (type === "P" && place === "before_parse") return this.#make(message);
    if (type === "B" && place === "before_bind") return this.#make(message);
    if (type === "E" && place === "before_execute") return this.#make(message);
    if (type === "E" && place === "inside_execute") {
      this.#server.write(bytes.subarray(0, bytes.length >> 1), () => this.#make(message, bytes.length >> 1));
      this.#halted = true;
      return;
    }
    if (type === "S" && place === "before_commit") {
      // Its answer is the sign that the statement has run.
      this.#server.write(flushMessage);
      return;
    }
    this.#server.write(bytes);
    if (type === "S" && place === "during_commit") this.#make(null);
  }

  #toClient(message: Message): void {
    const { type, bytes } = message;
    const place = this.#fault?.place;
    if (type === "E" && place !== undefined) {
      // The statement failed: there is no commit to cut.
      this.#fault = null;
      if (place === "before_commit") this.#server.write(syncMessage);
      for (const held of this.#withheld.splice(0)) this.#client.write(held);
    } else if (type === "C" && place === "before_commit") {
      // The client gets even CommandComplete, and must not take it for the commit.
      this.#client.write(bytes, () => this.#make({ type: "S", bytes: syncMessage }));
      this.#halted = true;
      return;
    }
    if (type === "Z" && place === "inside_answer") {
      this.#client.write("", () => this.#make(message));
      this.#halted = true;
      return;
    }
    if (place === "after_commit" || place === "inside_message") {
      if (type === "Z" && place === "inside_message") {
        const [first = new Uint8Array(0), ...rest] = this.#withheld.splice(0);
        const half = first.length >> 1;
        this.#withheld.push(first.subarray(half), ...rest);
        this.#client.write(first.subarray(0, half), () => this.#make(message));
        this.#halted = true;
      } else if (type === "Z") this.#make(message);
      else this.#withheld.push(bytes);
      return;
    }
    this.#client.write(bytes);
  }

  /** The fault happens now; `held` is the message that was not forwarded, from an offset on. */
  #make(held: Message | null, offset = 0): void {
    const fault = this.#fault;
    if (fault === null) return;
    this.#fault = null;
    if (fault.how !== "halt") this.end(fault.how);
    else this.#halted = true;
    this.#proxy.faulted({
      release: () => {
        this.#halted = false;
        for (const bytes of this.#withheld.splice(0)) this.#client.write(bytes);
        const to = held !== null && held.type === "Z" ? this.#client : this.#server;
        if (held !== null) to.write(held.bytes.subarray(offset));
        this.#pump();
      },
    });
  }
}
