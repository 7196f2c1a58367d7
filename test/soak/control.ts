/**
 * Measures what the machine does to a process: each 100 ms, as the service's own measurement, the delay of a timer and the
 * duration of a fixed piece of work, reading the largest form. When asked, sends the delay that 0.1 % exceed and the median
 * duration, in milliseconds, and the processor time.
 */

import process from "node:process";
import { limits } from "../../src/contract/limits.ts";
import { readFields } from "../../src/forms/fields.ts";

const intervalMs = 100;
const body = JSON.stringify({ message: "\0é".repeat(limits.bodyBytesMax / 8) });
const [delays, works]: [number[], number[]] = [[], []];
let dueAtMs = performance.now() + intervalMs;
const timer = setInterval(() => {
  const startMs = performance.now();
  delays.push(startMs - dueAtMs);
  readFields(body);
  works.push(performance.now() - startMs);
  dueAtMs = startMs + intervalMs;
}, intervalMs);
/** The value that this part of the values does not exceed. */
const quantile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(part * values.length) - 1];
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({
    delayMs: quantile(delays, 0.999),
    workMs: quantile(works, 0.5),
    cpuSeconds: (user + system) / 1e6,
  });
});
process.on("disconnect", () => clearInterval(timer));
