/**
 * What the service delivers to here: it counts what comes of each event, and answers 200 after a moment.
 *
 * @module
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A running sink. */
export interface Sink {
  readonly url: string;
  /** How often each event came, by its id, and the `external_id` of its lead. */
  readonly came: Map<string, { times: number; readonly externalId: unknown }>;
  close(): void;
}

/** Opens one. */
export async function openSink(): Promise<Sink> {
  const came: Sink["came"] = new Map();
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    if (request.method === "PUT") {
      const event = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const seen = came.get(event.event_id);
      if (seen === undefined) came.set(event.event_id, { times: 1, externalId: event.lead?.external_id });
      else seen.times += 1;
    }
    response.end();
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    came,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
