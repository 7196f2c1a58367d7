/** Reads the backlog and sends events for the job queues, without a timeout per request. */

import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { createInterface } from "node:readline";

// No static import: the repository's type check would need this package's dependencies.
const { Pool } = createRequire(import.meta.url)("undici");

/** Reads the backlog in chunks. Each body remains one string, which is cheaper for the peers. */
export async function* readChunks(size) {
  let chunk = [];
  const input = createReadStream(process.env.BACKLOG_FILE ?? "");
  for await (const line of createInterface({ input })) {
    const space = line.indexOf(" ");
    chunk.push({ id: line.slice(0, space), body: line.slice(space + 1) });
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Returns a function that sends one event and rejects unless the response is 200. */
export function openPost() {
  // One request at a time per connection, as in the service.
  const pool = new Pool(process.env.ACTIONS_URL, {
    connections: Number(process.env.CONNECTIONS),
    pipelining: 1,
  });
  return async ({ id, body }) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const answer = await pool.request({ method: "PUT", path: `/v1/events/${id}`, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 200) {
      throw new Error(`status ${answer.statusCode}`);
    }
  };
}
