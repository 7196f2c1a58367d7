/**
 * `is_healthy.ts ADDRESS VERSION SECONDS` polls /metrics until a process of that version reports a writable store. Each
 * request has its own connection, because two processes may share the address. Exit status 1: none in time; 3: the last
 * one lacked only the store.
 */

import { get } from "node:http";
import process from "node:process";
import { text } from "node:stream/consumers";

const [address, version, seconds] = process.argv.slice(2);
const deadlineMs = Date.now() + Number(seconds) * 1_000;
const pauseMs = 250;
const answerMs = 2_000;

function ask(): Promise<string> {
  return new Promise((settle, fail) => {
    const options = { agent: false, timeout: answerMs } as const;
    const request = get(
      `http://${address}/metrics`,
      options,
      (response) => text(response).then(settle, fail),
    );
    request.on("error", fail).on("timeout", () => request.destroy(new Error("no answer")));
  });
}

/** The process's state as an exit status. */
async function status(): Promise<0 | 1 | 3> {
  try {
    const answer = await ask();
    const build = /^lead_build_info\{(?:.*,)?version="([^"]*)"/m.exec(answer)?.[1];
    // The actions process has no store; an answer is enough.
    const isWritable = /^lead_store_writable (\S+)/m.exec(answer)?.[1] ?? "1";
    if (build !== version) return 1;
    return isWritable === "1" ? 0 : 3;
  } catch {
    return 1;
  }
}

for (;;) {
  const answered = await status();
  if (answered === 0) break;
  if (Date.now() > deadlineMs) process.exit(answered);
  await new Promise((settle) => setTimeout(settle, pauseMs));
}
