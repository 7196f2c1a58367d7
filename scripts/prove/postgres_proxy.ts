/**
 * A TCP proxy that parses PostgreSQL's protocol, so that it can cut a connection at an exact point of a commit.
 *
 * @module
 */

import { connect, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/**
 * The points in a call to `accept` at which a connection can be cut or halted, and whether a batch that is cut there is
 * committed (`null`: possibly). PostgreSQL runs the statement at Execute and responds with CommandComplete; it commits at Sync
 * and responds with ReadyForQuery.
 */
export const places = {
  /** Parse, which is sent once per connection, is not forwarded: the server has not seen the statement. */
  before_parse: false,
  /** Bind is not forwarded. */
  before_bind: false,
  /** Bind has been forwarded, Execute has not: nothing runs. */
  before_execute: false,
  /** Half of Execute's bytes have been forwarded. */
  inside_execute: false,
  /** The statement has run and holds its locks; Sync is not forwarded: nothing is committed. */
  before_commit: false,
  /** Sync has just been forwarded. */
  during_commit: null,
  /** Nothing of the response is forwarded. */
  after_commit: true,
  /** Half of the response's first message is forwarded. */
  inside_message: true,
  /** The response is forwarded up to CommandComplete, without ReadyForQuery. */
  inside_response: true,
} satisfies Record<string, boolean | null>;

export type Place = keyof typeof places;

/** What happens to the connection: an orderly close, a reset, or a halt until it is released. */
export type Fault = { readonly place: Place; readonly how: "close" | "reset" | "halt" };

export interface HaltedConnection {
  release(): void;
}

/** Returns the type of the message at which a fault occurs or is chosen. */
function triggerMessage(place: Place): "P" | "B" | "E" {
  return place === "before_parse" ? "P" : place === "before_bind" ? "B" : "E";
}

/** Matches the statement that commits a batch. */
export const acceptCall = /\baccept\(/;

/** Sync: commits, and requests ReadyForQuery. */
const syncMessage = Uint8Array.of("S".charCodeAt(0), 0, 0, 0, 4);
/** Flush: requests the response without a commit. */
const flushMessage = Uint8Array.of("H".charCodeAt(0), 0, 0, 0, 4);

/** A message: its type letter, or `startup` for the first one, which has no letter. */
interface Message {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Splits a stream of bytes into messages. */
class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  #isStartup: boolean;

  constructor(startsWithStartup: boolean) {
    this.#isStartup = startsWithStartup;
  }

  push(bytes: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
  }

  next(): Message | undefined {
    const typeLength = this.#isStartup ? 0 : 1;
    if (this.#rest.length < typeLength + 4) return undefined;
    const length = typeLength + this.#rest.readUInt32BE(typeLength);
    if (this.#rest.length < length) return undefined;
    const bytes = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    const type = this.#isStartup ? "startup" : String.fromCharCode(bytes[0] as number);
    this.#isStartup = false;
    return { type, bytes };
  }
}

/** Returns the nth of the zero-terminated strings with which a message begins. */
function stringAt(bytes: Uint8Array, n: number): string {
  let start = 5;
  for (let skipped = 0; skipped < n; skipped++) start = bytes.indexOf(0, start) + 1;
  return new TextDecoder().decode(bytes.subarray(start, bytes.indexOf(0, start)));
}

/** Returns a parameter of the startup message, or `""`. */
function startupParameter(bytes: Uint8Array, name: string): string {
  const words = new TextDecoder().decode(bytes.subarray(8)).split("\0");
  for (let i = 0; i + 1 < words.length; i += 2) if (words[i] === name) return words[i + 1] ?? "";
  return "";
}

/** A proxy on a loopback port. */
export class PostgresProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  /** Matches the statements for which {@linkcode chooseFault} is called. */
  watched = acceptCall;
  /** Called at the Execute of each watched statement; `null`, or a place before Execute, injects no fault. */
  chooseFault: () => Fault | null = () => null;
  /** A pending fault before Execute. */
  faultBeforeExecute: Fault | null = null;
  /** Whether new connections are accepted; otherwise, they are reset. */
  isAccepting = true;
  /** The port on 127.0.0.1 to which new connections are forwarded. */
  targetPort: number;
  #onFault: (halted: HaltedConnection) => void = () => {};

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    // Without noDelay, forwarded bytes could be delayed past a cut.
    this.#server = createServer({ allowHalfOpen: false, noDelay: true }, (client) => {
      if (!this.isAccepting) {
        client.resetAndDestroy();
        return;
      }
      const server = connect({ port: this.targetPort, host: "127.0.0.1", noDelay: true });
      const link = new Link(client, server, this);
      this.#links.add(link);
      link.closed.then(() => this.#links.delete(link));
    });
  }

  /** Opens a proxy to a server on 127.0.0.1. */
  static async open(targetPort: number): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(targetPort);
    await new Promise<void>((settle, reject) => {
      proxy.#server.once("error", reject).listen(0, "127.0.0.1", settle);
    });
    return proxy;
  }

  /** Returns the URL of a database through the proxy. */
  databaseUrl(direct: string): string {
    const url = new URL(direct);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Injects a fault into the next call of a watched statement; resolves when the fault has occurred. */
  injectFault(fault: Fault): Promise<HaltedConnection> {
    return new Promise((settle) => {
      this.#onFault = settle;
      if (triggerMessage(fault.place) !== "E") {
        this.faultBeforeExecute = fault;
        return;
      }
      this.chooseFault = () => {
        this.chooseFault = () => null;
        return fault;
      };
    });
  }

  /** Cancels the fault of {@linkcode PostgresProxy.injectFault} if it has not occurred. */
  cancelFault(): void {
    this.faultBeforeExecute = null;
    this.chooseFault = () => null;
  }

  /** Returns the fault for a message of a watched statement. */
  faultAt(message: string): Fault | null {
    if (message === "E") {
      const fault = this.chooseFault();
      return fault === null || triggerMessage(fault.place) !== "E" ? null : fault;
    }
    const fault = this.faultBeforeExecute;
    if (fault === null || triggerMessage(fault.place) !== message) return null;
    this.faultBeforeExecute = null;
    return fault;
  }

  /** Called by a {@linkcode Link} when its fault has occurred. */
  onFaultInjected(halted: HaltedConnection): void {
    this.#onFault(halted);
  }

  /** Resets all connections, or those with this `application_name`; resolves when they are closed. */
  async cut(applicationName?: string): Promise<void> {
    const links = this.#select(applicationName);
    for (const link of links) link.end("reset");
    await Promise.all(links.map((link) => link.closed));
  }

  /** Stops forwarding on the existing connections without closing them; new ones work. */
  blackHole(applicationName?: string): void {
    for (const link of this.#select(applicationName)) link.silence();
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#links.size;
  }

  #select(applicationName: string | undefined): Link[] {
    return [...this.#links].filter((link) =>
      applicationName === undefined || link.applicationName === applicationName
    );
  }

  /** Closes the proxy and all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((settle) => this.#server.close(() => settle()));
    await this.cut();
    await closed;
  }
}

/** A client's connection and the matching connection to the server. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #proxy: PostgresProxy;
  readonly #fromClient: MessageReader;
  readonly #fromServer = new MessageReader(false);
  /** The text of prepared statements by name. */
  readonly #statements = new Map<string, string>();
  /** The text of the last bound statement. */
  #boundStatement = "";
  /** The pending fault of the current call. */
  #fault: Fault | null = null;
  /** The response messages that are withheld until ReadyForQuery. */
  readonly #withheld: Uint8Array[] = [];
  #isSilent = false;
  #isHalted = false;
  applicationName = "";
  readonly closed: Promise<void>;

  constructor(client: Socket, server: Socket, proxy: PostgresProxy) {
    this.#client = client;
    this.#server = server;
    this.#proxy = proxy;
    this.#fromClient = new MessageReader(true);
    client.on("data", (bytes) => {
      this.#fromClient.push(bytes);
      this.#pump();
    });
    server.on("data", (bytes) => {
      this.#fromServer.push(bytes);
      this.#pump();
    });
    // A silent link does not forward a close either, so the peer must detect the loss itself.
    client.on("close", () => this.#isSilent || server.destroy());
    server.on("close", () => this.#isSilent || client.destroy());
    client.on("error", () => {});
    server.on("error", () => {});
    this.closed = Promise.all(
      [client, server].map((socket) => new Promise<void>((settle) => socket.once("close", () => settle()))),
    ).then(() => {});
  }

  end(how: "close" | "reset"): void {
    this.#isSilent = false;
    this.#isHalted = false;
    for (const socket of [this.#client, this.#server]) {
      if (how === "close") socket.destroy();
      else if (!socket.destroyed) socket.resetAndDestroy();
    }
  }

  silence(): void {
    this.#isSilent = true;
  }

  #pump(): void {
    for (
      const [messages, forward] of [
        [this.#fromClient, this.#toServer],
        [this.#fromServer, this.#toClient],
      ] as const
    ) {
      while (!this.#isSilent && !this.#isHalted) {
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
      this.#statements.set(stringAt(bytes, 0), stringAt(bytes, 1));
      this.#boundStatement = stringAt(bytes, 1);
    }
    if (type === "B") this.#boundStatement = this.#statements.get(stringAt(bytes, 1)) ?? "";
    if ((type === "P" || type === "B" || type === "E") && this.#proxy.watched.test(this.#boundStatement)) {
      this.#fault = this.#proxy.faultAt(type);
    }
    const place = this.#fault?.place;
    if (type === "P" && place === "before_parse") return this.#inject(message);
    if (type === "B" && place === "before_bind") return this.#inject(message);
    if (type === "E" && place === "before_execute") return this.#inject(message);
    if (type === "E" && place === "inside_execute") {
      this.#server.write(
        bytes.subarray(0, bytes.length >> 1),
        () => this.#inject(message, bytes.length >> 1),
      );
      this.#isHalted = true;
      return;
    }
    if (type === "S" && place === "before_commit") {
      // The response to Flush shows that the statement has run.
      this.#server.write(flushMessage);
      return;
    }
    this.#server.write(bytes);
    if (type === "S" && place === "during_commit") this.#inject(null);
  }

  #toClient(message: Message): void {
    const { type, bytes } = message;
    const place = this.#fault?.place;
    if (type === "E" && place !== undefined) {
      // The statement failed, so there is no commit to cut.
      this.#fault = null;
      if (place === "before_commit") this.#server.write(syncMessage);
      for (const held of this.#withheld.splice(0)) this.#client.write(held);
    } else if (type === "C" && place === "before_commit") {
      // The client gets CommandComplete, which does not confirm the commit.
      this.#client.write(bytes, () => this.#inject({ type: "S", bytes: syncMessage }));
      this.#isHalted = true;
      return;
    }
    if (type === "Z" && place === "inside_response") {
      this.#client.write("", () => this.#inject(message));
      this.#isHalted = true;
      return;
    }
    if (place === "after_commit" || place === "inside_message") {
      if (type === "Z" && place === "inside_message") {
        const [first = new Uint8Array(0), ...rest] = this.#withheld.splice(0);
        const half = first.length >> 1;
        this.#withheld.push(first.subarray(half), ...rest);
        this.#client.write(first.subarray(0, half), () => this.#inject(message));
        this.#isHalted = true;
      } else if (type === "Z") this.#inject(message);
      else this.#withheld.push(bytes);
      return;
    }
    this.#client.write(bytes);
  }

  /** Causes the fault; `held` is the message whose bytes from `offset` on were not forwarded. */
  #inject(held: Message | null, offset = 0): void {
    const fault = this.#fault;
    if (fault === null) return;
    this.#fault = null;
    if (fault.how !== "halt") this.end(fault.how);
    else this.#isHalted = true;
    this.#proxy.onFaultInjected({
      release: () => {
        this.#isHalted = false;
        for (const bytes of this.#withheld.splice(0)) this.#client.write(bytes);
        const to = held !== null && held.type === "Z" ? this.#client : this.#server;
        if (held !== null) to.write(held.bytes.subarray(offset));
        this.#pump();
      },
    });
  }
}
