/**
 * A server of which one address is read over and over; it runs through all rounds, and is loaded in its own.
 *
 * @module
 */

import type { Program } from "../programs.ts";
import type { Bench, Contender } from "../suite.ts";
import { meter } from "../usage.ts";
import { get } from "./wrk.ts";

const connections = 64;
const warmUpSeconds = 2;

/**
 * Such a server as a contender.
 *
 * @throws {Error} when it does not answer with what is expected
 */
export async function getting(
  { options }: Bench,
  server: Pick<Program, "pid" | "stop">,
  { url, expected }: { url: string; expected: string | Uint8Array },
): Promise<Contender> {
  const response = await fetch(url);
  const sent = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200 || !sent.equals(Buffer.from(expected))) {
    await server.stop();
    throw new Error(`${url} has answered ${response.status} with ${sent.length} other bytes`);
  }
  return {
    close: () => server.stop(),
    run: async () => {
      await get(url, { connections, seconds: warmUpSeconds });
      const spent = meter({ server: server.pid });
      const { requests, perSecond } = await get(url, { connections, seconds: options.seconds });
      return { "answers/s": perSecond, ...spent(requests, "answer") };
    },
  };
}
