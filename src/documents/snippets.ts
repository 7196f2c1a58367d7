/**
 * Code for callers to paste, as the brief and the playground show it. Tests run every line of it. This
 * module is browser compatible.
 */

import { limits } from "../contract/limits.ts";
import { leadExamples, placeholders } from "./examples.ts";
import { documents } from "./published.ts";

/** Quotes text for a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A `curl` command that posts a body to the intake; the key is read from the environment. */
export function curlPost(
  baseUrl: string,
  options: { readonly body: string; readonly idempotencyKey?: string },
): string {
  const { body, idempotencyKey = "" } = options;
  return [
    `curl -sS -i ${baseUrl}/v1/intake`,
    `-H "X-API-Key: $LEADS_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    ...(idempotencyKey === "" ? [] : [`-H ${shellQuoted(`Idempotency-Key: ${idempotencyKey}`)}`]),
    // Not -d, which would read a file for a body that starts with @.
    `--data-raw ${shellQuoted(body)}`,
  ].join(" \\\n  ");
}

/** Shell commands, by what they are for. */
export function shellSnippets(baseUrl: string) {
  return {
    keyCheck: curlPost(baseUrl, { body: "{}" }),
    postLead: curlPost(baseUrl, {
      body: leadExamples.minimal.body,
      idempotencyKey: placeholders.idempotencyKey,
    }),
    vocabulary: `curl -sS ${baseUrl}/v1/vocabulary`,
    types: `npx openapi-typescript ${baseUrl}${documents.openapi.path} -o lead-intake.d.ts`,
  } as const;
}

/** A program that stands indented, so that nothing takes its lines for its module's own, at the left edge. */
export function unindented(text: string): string {
  const indent = " ".repeat(text.search(/\S/) - 1);
  return `${text.replaceAll(`\n${indent}`, "\n").trim()}\n`;
}

/** The Idempotency-Key of the clients' example. */
export const clientIdempotencyKey = "acme:lead:4712";

/** How often a client tries, 429s aside. */
export const clientTriesMax = 8;

/** A client in one file of TypeScript, without a dependency. */
export function clientModule(baseUrl: string): string {
  return unindented(`
    // lead_intake.ts: for Node 22 or later, Deno, Bun and edge runtimes.
    const intake = "${baseUrl}/v1/intake";
    const timeoutMs = ${limits.requestTimeoutMs};
    const waitMsMax = ${limits.backoffCapSeconds * 1000};
    const triesMax = ${clientTriesMax};

    export interface Lead {
      first_name: string;
      last_name: string;
      phone: string;
      [field: string]: unknown;
    }

    export interface Acknowledgement {
      event_id: string;
      status: "accepted" | "duplicate";
      received_at: string;
      source: string;
      flags: string[];
    }

    /** What was answered at last; status 0 when nothing was. */
    export class NotSent extends Error {
      status: number;
      code: string;
      requestId: string;
      fields: Record<string, string>;
      detail: string;

      constructor(status: number, answer: Record<string, unknown>, requestId: string) {
        super(\`The lead was not sent: \${status} \${answer.error ?? "no answer"}, request \${requestId}\`);
        this.status = status;
        this.code = String(answer.error ?? "");
        this.requestId = requestId;
        this.fields = (answer.fields ?? {}) as Record<string, string>;
        this.detail = String(answer.detail ?? "");
      }
    }

    async function post(key: string, body: string, idempotencyKey?: string) {
      const headers: Record<string, string> = { "X-API-Key": key, "Content-Type": "application/json" };
      if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
      try {
        const answer = await fetch(intake, {
          method: "POST",
          headers,
          body,
          redirect: "manual", // The key goes to the intake and nowhere else.
          signal: AbortSignal.timeout(timeoutMs),
        });
        const json = await answer.json().catch(() => null) ?? {};
        return { status: answer.status, headers: answer.headers, json };
      } catch {
        // No connection, no answer in time, or half an answer: the retry finds out what became of the lead.
        return { status: 0, headers: new Headers(), json: {} };
      }
    }

    /** True: the key works. False: it does not, and a person has to look. */
    export async function checkKey(key: string): Promise<boolean> {
      const { status, headers, json } = await post(key, "{}");
      if (status === 422) return true;
      if (status === 401) return false;
      throw new NotSent(status, json, headers.get("X-Request-Id") ?? "");
    }

    /** Sends one lead and retries as the policy says. Keep the event_id that comes back. */
    export async function sendLead(
      key: string,
      lead: Lead,
      idempotencyKey: string,
    ): Promise<Acknowledgement> {
      const body = JSON.stringify(lead);
      let failures = 0;
      for (let waits = 1;; waits++) {
        const { status, headers, json } = await post(key, body, idempotencyKey);
        if ((status === 202 || status === 200) && json.event_id) return json;
        const mayRetry = status === 0 || status === 200 || status === 202 || status === 429 || status >= 500;
        // A 429 does not count: it says when to come back.
        if (status !== 429) failures++;
        if (!mayRetry || failures === triesMax) {
          throw new NotSent(status, json, headers.get("X-Request-Id") ?? "");
        }
        // In seconds; an edge may send a date, which is no number.
        const floorMs = (Number(headers.get("Retry-After")) || 0) * 1000;
        const jitterMs = Math.random() * Math.min(waitMsMax, 250 * 2 ** waits);
        await new Promise((done) => setTimeout(done, floorMs + jitterMs));
      }
    }
  `);
}

/** A program that uses {@linkcode clientModule}. */
export const clientProgram = unindented(`
  // send.ts: run it with a sandbox key in LEADS_API_KEY.
  import { checkKey, NotSent, sendLead } from "./lead_intake.ts";

  const key = process.env.LEADS_API_KEY ?? "";
  if (!await checkKey(key)) throw new Error("The key is not accepted: tell a person");

  try {
    const lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "kitchen" };
    const { event_id, status, flags } = await sendLead(key, lead, "${clientIdempotencyKey}");
    console.log(status, event_id, flags);
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
    // 401: tell a person. 422: show them fields and detail.
    console.error(error.message, error.fields, error.detail);
    process.exitCode = 1;
  }
`);
