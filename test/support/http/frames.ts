/**
 * An HTTP/2 client that sends arbitrary frames and none on its own: it acknowledges nothing and opens no window.
 */

import { Buffer } from "node:buffer";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { frame, type FrameType, preface, requests, typeOf } from "./http2_frames.ts";
import { within } from "./echo.ts";

/** A received frame. */
export interface Frame {
  readonly type: FrameType | undefined;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const headBytes = 9;

/** Returns a frame that opens the window of a stream, or of the connection, by `bytes`. */
export function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame("window_update", { stream, payload });
}

/** A connection that has sent its preface and settings. */
export class FrameClient {
  readonly socket: TLSSocket;
  /** Received frames that the test has not taken yet. */
  readonly frames: Frame[] = [];
  isClosed = false;
  #asked = 0;
  #input: Buffer = Buffer.alloc(0);
  #wake: () => void = () => {};

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("error", () => {});
    socket.once("close", () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  /** Connects and gives each stream a window of `windowBytes`. */
  static async open(
    port: number,
    options: { readonly windowBytes?: number; readonly localAddress?: string } = {},
  ): Promise<FrameClient> {
    const { windowBytes = 65_535, ...from } = options;
    const to = { port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] };
    const socket = connectTls({ ...to, ...from });
    const client = new FrameClient(socket);
    const opened = new Promise((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("close", () => reject(new Error("The connection was closed")));
    });
    await within(opened, "connection");
    client.send(preface(windowBytes));
    return client;
  }

  /** Writes bytes if possible; returns `false` when the connection accepts no more for now. */
  send(bytes: Uint8Array): boolean {
    return this.socket.writable && this.socket.write(bytes);
  }

  /** Sends `count` GETs of a path on the streams 1, 3, 5 and so on. */
  ask(path: string, count = 1): void {
    this.send(requests("one.test", path, { count, first: this.#asked }));
    this.#asked += count;
  }

  /** Opens the window of a stream by `bytes`; stream 0 is the connection. */
  open(stream: number, bytes: number): void {
    this.send(windowUpdate(stream, bytes));
  }

  /** Returns the next frame of a type. */
  async next(type: FrameType): Promise<Frame> {
    while (true) {
      const index = this.frames.findIndex((found) => found.type === type);
      if (index !== -1) return this.frames.splice(index, 1)[0] as Frame;
      if (this.isClosed) throw new Error(`The connection was closed before a frame ${type} came`);
      await within(new Promise<void>((resolve) => this.#wake = resolve), `frame ${type}`);
    }
  }

  /** Returns the error code of the GOAWAY that ends the connection. */
  async goaway(): Promise<number> {
    return (await this.next("goaway")).payload.readUInt32BE(4);
  }

  /** Waits until the server has closed the connection. */
  async closed(): Promise<void> {
    if (this.isClosed) return;
    await within(new Promise((resolve) => this.socket.once("close", resolve)), "end of the connection");
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#input = Buffer.concat([this.#input, chunk]);
    while (this.#input.length >= headBytes) {
      const end = headBytes + this.#input.readUIntBE(0, 3);
      if (this.#input.length < end) break;
      this.frames.push({
        type: typeOf(this.#input.readUInt8(3)),
        flags: this.#input.readUInt8(4),
        stream: this.#input.readUInt32BE(5),
        payload: this.#input.subarray(headBytes, end),
      });
      this.#input = this.#input.subarray(end);
    }
    this.#wake();
  }
}
