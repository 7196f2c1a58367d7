/**
 * Rounds of posts by a kit and by the bare client it is built on, in turns.
 *
 * @module
 */

/** Posts a lead, and gives the answer's `status`. */
export type PostOne = (lead: Readonly<Record<string, string>>, idempotencyKey: string) => Promise<string>;

/** What both are given. */
export interface Target {
  readonly key: string;
  readonly baseUrl: string;
}

const lead = {
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+1 415 555 0100",
  email: "ada@example.com",
  street_address: "12 Analytical Way",
  city: "Springfield",
  state: "IL",
  zip: "62701",
  project_area: "Roof",
  project_service: "repair",
  project_details: "The roof leaks above the kitchen since the storm of last week.",
};

/** `bench POSTS ROUNDS`: a line of JSON a round, in posts a second. */
export async function benchRounds(open: (target: Target) => { kit: PostOne; bare: PostOne }): Promise<void> {
  const [posts, rounds] = process.argv.slice(2).map(Number);
  const { LEADS_API_KEY: key, LEADS_BASE_URL: baseUrl } = process.env;
  if (!posts || !rounds || key === undefined || baseUrl === undefined) {
    throw new Error("Usage: bench POSTS ROUNDS, with LEADS_API_KEY and LEADS_BASE_URL");
  }
  const { kit, bare } = open({ key, baseUrl });
  // The first round warms both, and is not printed.
  for (let round = 0; round <= rounds; round += 1) {
    const rates = { kit: 0, bare: 0 };
    for (const name of round % 2 === 0 ? ["kit", "bare"] as const : ["bare", "kit"] as const) {
      rates[name] = await rate(name === "kit" ? kit : bare, posts, `${name}:${round}`);
    }
    if (round > 0) console.log(JSON.stringify(rates));
  }
}

async function rate(post: PostOne, posts: number, name: string): Promise<number> {
  const startMs = performance.now();
  for (let n = 0; n < posts; n += 1) {
    const status = await post(lead, `${name}:${process.pid}:${n}`);
    if (status !== "accepted" && status !== "duplicate") throw new Error("A post was not accepted");
  }
  return Math.round(posts / (performance.now() - startMs) * 10_000) / 10;
}

/** The headers of the kit's posts. */
export function headersOf(key: string, idempotencyKey: string): Record<string, string> {
  return {
    "x-api-key": key,
    "content-type": "application/json",
    "idempotency-key": idempotencyKey,
    "accept": "application/json",
    "user-agent": "bench/0.1.0",
    "x-request-id": "bench-0123456789abcdef",
  };
}
