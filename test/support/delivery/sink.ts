/** An actions tier for tests: an HTTP server that records what arrives and answers as it is told. */

import http from "node:http";
import { until } from "../until.ts";
import { atEnd } from "../at_end.ts";
import { openSocket } from "../handed_socket.ts";

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** How to answer: a status with a body and headers, `hang` to never answer, `cut` to close the connection. */
export type Reaction =
  | { readonly status: number; readonly body?: unknown; readonly headers?: http.OutgoingHttpHeaders }
  | "hang"
  | "cut";

/** Records requests, until the tests of the file have ended. */
export class Sink {
  readonly arrived: Arrived[] = [];
  /** Those that hang, as long as the other side waits, each with what answers it with 200. */
  readonly hanging = new Map<Arrived, () => void>();
  /** Decides about each request; by default all is well. */
  react: (request: Arrived) => Reaction = () => ({ status: 200, body: {} });
  #server: http.Server;
  #port = 0;

  private constructor() {
    this.#server = this.#make();
  }

  /** Opens a sink on a port of the system's choice. */
  static async open(): Promise<Sink> {
    const sink = new Sink();
    // Held as long as the tests run: while the sink is away, nobody else gets its port.
    sink.#port = Number(new URL(openSocket("sink").url).port);
    await sink.listen();
    atEnd(() => sink.down());
    return sink;
  }

  #make(): http.Server {
    return http.createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => text += chunk);
      request.on("end", () => {
        const arrived = {
          method: request.method ?? "",
          path: request.url ?? "",
          text,
          body: JSON.parse(text),
        };
        this.arrived.push(arrived);
        const reaction = this.react(arrived);
        if (reaction === "cut") request.socket.destroy();
        if (reaction === "hang") {
          this.hanging.set(arrived, () => response.end("{}"));
          response.once("close", () => this.hanging.delete(arrived));
        }
        if (reaction === "cut" || reaction === "hang") return;
        response.writeHead(reaction.status, { "Content-Type": "application/json", ...reaction.headers });
        response.end(JSON.stringify(reaction.body ?? {}));
      });
    });
  }

  /** Its base address, the same also after {@linkcode down} and {@linkcode listen}. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Accepts connections (again). */
  async listen(): Promise<void> {
    this.#server = this.#make();
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject).listen(this.#port, "127.0.0.1", resolve);
    });
  }

  /** Goes away: connections are cut, new ones refused. */
  async down(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** The requests for one event. */
  of(eventId: string): Arrived[] {
    return this.arrived.filter((request) => request.path === `/v1/events/${eventId}`);
  }

  /** Waits until an event has arrived `count` times. */
  async until(eventId: string, count = 1): Promise<Arrived[]> {
    await until(() => this.of(eventId).length >= count, { what: `${eventId} arrives ${count} times` });
    return this.of(eventId);
  }
}
