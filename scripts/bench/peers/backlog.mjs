/**
 * The backlog as the peers get it: the same bodies as ours, from the file that the benchmark has written.
 *
 * @module
 */

import { createReadStream } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

/** Jobs in chunks. The body is one string: parsing its members costs a peer more, for nothing. */
export async function* readChunks(size) {
  let chunk = [];
  for await (
    const line of createInterface({ input: createReadStream(process.env.BACKLOG_FILE ?? "") })
  ) {
    const space = line.indexOf(" ");
    chunk.push({ id: line.slice(0, space), body: line.slice(space + 1) });
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
