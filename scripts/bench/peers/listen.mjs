/**
 * How the peers that serve begin and end: they say where they listen as our service does.
 *
 * @module
 */

import process from "node:process";

/** Says where a server listens, which listens already, and ends it on SIGTERM. */
export function listening(port, end = () => process.exit(0)) {
  const url = `http://127.0.0.1:${port}`;
  process.stdout.write(
    `${JSON.stringify({ event: "listening", surface: "intake", url })}\n{"event":"started"}\n`,
  );
  process.on("SIGTERM", end);
}
