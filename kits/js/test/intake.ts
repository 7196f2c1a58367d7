/**
 * A small real intake on 127.0.0.1, which answers what a test says and keeps what came in.
 *
 * @module
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Keys whose checksum is right. */
export const key = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";

/** What came in. */
export interface Post {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly port: number;
}

/** What goes out. */
export interface Scripted {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** An answer to a post, or `null` for none: the connection is cut. */
export type Script = (post: Post, index: number) => Scripted | null | Promise<Scripted | null>;

/** An acknowledgement of the intake. */
export function acknowledgement(eventId = "evt_1"): Scripted {
  const body = {
    event_id: eventId,
    status: "accepted",
    received_at: "2026-09-03T10:00:00Z",
    source: "test",
    flags: [],
  };
  return { status: 202, body };
}

/** A server that is listening. */
export interface Intake {
  readonly url: string;
  readonly posts: Post[];
  stop(): Promise<void>;
}

/** Starts one. */
export async function startIntake(script: Script): Promise<Intake> {
  const posts: Post[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const post = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body,
      port: request.socket.remotePort ?? 0,
    };
    const index = posts.push(post) - 1;
    write(response, await script(post, index));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function write(response: ServerResponse, answer: Scripted | null): void {
  if (answer === null) return void response.destroy();
  const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
  response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
  response.end(answer.status === 304 ? undefined : body);
}
