/**
 * Repeats a post while the service refuses it with 503: on a busy machine, that is a correct response. For tests of
 * something else.
 */

import { type Answer, post, type RequestOptions } from "./client.ts";
import { until } from "./until.ts";

/** Posts until the service takes the body. */
export function postServed(url: string, options: RequestOptions): Promise<Answer> {
  return until(async () => {
    const answer = await post(url, options);
    return answer.status !== 503 && answer;
  });
}

/** Runs a command of `curl -i` until its response is another one, and returns its output. */
export async function pasteServed(run: () => string | Promise<string>): Promise<string> {
  const { output } = await until(async () => {
    const output = await run();
    return !/^HTTP\/1\.1 503 /m.test(output) && { output };
  });
  return output;
}
