/**
 * What the clients that are processes of their own have in common: their task, their pace and their answer.
 *
 * @module
 */

import { readFileSync } from "node:fs";

/** What it is told to do. */
export function readTask<T>(): T {
  return JSON.parse(process.env.TASK ?? "");
}

/** The lines of a file. */
export function readLines(file: string): string[] {
  return readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
}

/** Answers, and ends with all that it has open. */
export function answer(result: unknown): void {
  process.stdout.write(JSON.stringify(result), () => process.exit(0));
}

/** Calls `send` with each number up to `total` when it is due, whatever became of those before it. */
export async function keepPace(
  { perSecond, seconds }: { perSecond: number; seconds: number },
  send: (number: number, dueNs: number) => void,
): Promise<void> {
  const nowNs = () => Number(process.hrtime.bigint());
  const startNs = nowNs();
  const gapNs = 1e9 / perSecond;
  const total = perSecond * seconds;
  for (let sent = 0; sent < total;) {
    const due = Math.min(total, Math.floor((nowNs() - startNs) / gapNs) + 1);
    for (; sent < due; sent += 1) send(sent, startNs + sent * gapNs);
    // Not before the next one is due, but no less than the 1 ms that a timer takes.
    await new Promise((settle) => setTimeout(settle, Math.max(1, (startNs + sent * gapNs - nowNs()) / 1e6)));
  }
}
