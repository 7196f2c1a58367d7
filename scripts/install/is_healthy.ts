/**
 * `is_healthy.ts ADDRESS VERSION SECONDS` polls /metrics until a process of that version reports a writable store.
 * Each request has its own connection, because two processes may share the address. The exit status is 1 if there was
 * none in time, and 3 if the last process had that version but its store was not writable.
 */

import { get } from "node:http";
import process from "node:process";
import { text } from "node:stream/consumers";

const [address, version, seconds] = process.argv.slice(2);
const deadlineMs = Date.now() + Number(seconds) * 1_000;
const pauseMs = 250;
const requestTimeoutMs = 2_000;

function fetchMetrics(): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { agent: false, timeout: requestTimeoutMs } as const;
    const request = get(
      `http://${address}/metrics`,
      options,
      (response) => text(response).then(resolve, reject),
    );
    request.on("error", reject).on("timeout", () => request.destroy(new Error("no response")));
  });
}

/** Returns the status of the process that responds, as an exit code. */
async function readStatus(): Promise<0 | 1 | 3> {
  try {
    const metrics = await fetchMetrics();
    const build = /^lead_build_info\{(?:.*,)?version="([^"]*)"/m.exec(metrics)?.[1];
    // The actions process does not report a store.
    const isWritable = /^lead_store_writable (\S+)/m.exec(metrics)?.[1] ?? "1";
    if (build !== version) return 1;
    return isWritable === "1" ? 0 : 3;
  } catch {
    return 1;
  }
}

for (;;) {
  const exitCode = await readStatus();
  if (exitCode === 0) break;
  if (Date.now() > deadlineMs) process.exit(exitCode);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
