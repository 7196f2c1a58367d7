/** Reads and spends the budgets of the rate limits. */

import type { Answer } from "./client.ts";

/** Returns the numbers in `RateLimit` by policy. */
export function rateLimit(answer: Answer): Record<string, { r: number; t: number }> {
  const parts = String(answer.headers.ratelimit).matchAll(/"(\w+)";r=(\d+);t=(\d+)/g);
  return Object.fromEntries([...parts].map(([, name, r, t]) => [name, { r: Number(r), t: Number(t) }]));
}

/** Sends concurrent posts and returns how many were not limited and the elapsed seconds. */
export async function flood(count: number, post: (index: number) => Promise<Answer>) {
  const startMs = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => post(index)));
  const seconds = (performance.now() - startMs) / 1000;
  return { answers, allowed: answers.filter(({ status }) => status !== 429).length, seconds };
}

/** Repeats {@linkcode flood} until a post is limited: a slow machine earns requests back during a round. */
export async function floodUntilLimited(count: number, post: (index: number) => Promise<Answer>) {
  const startMs = performance.now();
  const answers: Answer[] = [];
  while (!answers.some(({ status }) => status === 429)) answers.push(...(await flood(count, post)).answers);
  const allowed = answers.filter(({ status }) => status !== 429).length;
  return { answers, allowed, seconds: (performance.now() - startMs) / 1000 };
}
