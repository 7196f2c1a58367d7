/**
 * A wire between two programs on this machine that can be cut: what is sent then arrives nowhere, and neither side is told.
 *
 * @module
 */

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a port. */
export class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => {
      const far = connect(targetPort, "127.0.0.1");
      for (const [socket, other] of [[near, far], [far, near]] as const) {
        this.#sockets.add(socket);
        socket.on("data", (bytes) => {
          if (!this.#isCut) other.write(bytes);
        });
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          if (!this.#isCut) other.destroy();
        });
      }
    });
  }

  /** Opens one on a free port. */
  static async open(targetPort: number): Promise<Wire> {
    const wire = new Wire(targetPort);
    await new Promise<void>((settle) => wire.#server.listen(0, "127.0.0.1", settle));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on nothing passes. */
  cut(): void {
    this.#isCut = true;
  }

  /** New connections pass again; those from before are reset, since bytes of theirs are lost. */
  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Closes it. */
  close(): void {
    this.mend();
    this.#server.close();
  }
}
