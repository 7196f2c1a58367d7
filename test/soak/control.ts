/**
 * Measures what the machine does to a process: each 100 ms, as the service's own measurement, the delay of a timer and the
 * duration of a fixed piece of work, reading the largest form. When asked, sends of each what 0.1 % exceed, in milliseconds.
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
/** The value that 0.1 % exceed. */
const high = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.ceil(0.999 * values.length) - 1];
process.on("message", () => process.send?.({ delayMs: high(delays), workMs: high(works) }));
process.on("disconnect", () => clearInterval(timer));
