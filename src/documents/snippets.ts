/** Code to copy, for the brief, the playground and the site. The tests run all of it. This module is browser compatible. */

import { limits } from "../contract/limits.ts";
import { leadExamples, placeholders } from "./examples.ts";
import { documents } from "./published.ts";

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns a `curl` command that posts a body with the key from an environment variable. */
export function curlPost(
  url: string,
  options: { readonly body: string; readonly idempotencyKey?: string; readonly keyVariable?: string },
): string {
  const { body, idempotencyKey = "", keyVariable = "LEADS_API_KEY" } = options;
  return [
    `curl -sS -i ${url}`,
    `-H "X-API-Key: $${keyVariable}"`,
    `-H 'Content-Type: application/json'`,
    ...(idempotencyKey === "" ? [] : [`-H ${quoteForShell(`Idempotency-Key: ${idempotencyKey}`)}`]),
    // Not -d, which would read a file if the body started with @.
    `--data-raw ${quoteForShell(body)}`,
  ].join(" \\\n  ");
}

/** Returns the shell commands for the documents. */
export function shellSnippets(baseUrl: string) {
  return {
    keyCheck: curlPost(`${baseUrl}/v1/intake`, { body: "{}" }),
    postLead: curlPost(`${baseUrl}/v1/intake`, {
      body: leadExamples.minimal.body,
      idempotencyKey: placeholders.idempotencyKey,
    }),
    vocabulary: `curl -sS ${baseUrl}/v1/vocabulary`,
    types: `npx openapi-typescript ${baseUrl}${documents.openapi.path} -o lead-intake.d.ts`,
  } as const;
}

/** Removes the indentation from a program in a template literal. */
export function dedent(text: string): string {
  const indent = " ".repeat(text.search(/\S/) - 1);
  return `${text.replaceAll(`\n${indent}`, "\n").trim()}\n`;
}

/** The `Idempotency-Key` in the clients' example. */
export const clientIdempotencyKey = "acme:lead:4712";

/** The clients' maximum number of tries, not counting those that get a 429. */
export const clientTriesMax = 8;

/** Returns a client in one TypeScript file, without dependencies. */
export function clientModule(baseUrl: string): string {
  return dedent(`
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

    /** The last response; the status is 0 if there was none. */
    export class NotSent extends Error {
      status: number;
      code: string;
      requestId: string;
      fields: Record<string, string>;
      detail: string;

      constructor(status: number, body: Record<string, unknown>, requestId: string) {
        super(\`The lead was not sent: \${status} \${body.error ?? "no response"}, request \${requestId}\`);
        this.status = status;
        this.code = String(body.error ?? "");
        this.requestId = requestId;
        this.fields = (body.fields ?? {}) as Record<string, string>;
        this.detail = String(body.detail ?? "");
      }
    }

    async function post(key: string, body: string, idempotencyKey?: string) {
      const headers: Record<string, string> = { "X-API-Key": key, "Content-Type": "application/json" };
      if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
      try {
        const response = await fetch(intake, {
          method: "POST",
          headers,
          body,
          redirect: "manual", // Never send the key to another host.
          signal: AbortSignal.timeout(timeoutMs),
        });
        const json = await response.json().catch(() => null) ?? {};
        return { status: response.status, headers: response.headers, json };
      } catch {
        // No connection, or no complete response in time: a retry finds out whether the lead was accepted.
        return { status: 0, headers: new Headers(), json: {} };
      }
    }

    /** Returns whether the key is valid. If it is not, alert a person. */
    export async function checkKey(key: string): Promise<boolean> {
      const { status, headers, json } = await post(key, "{}");
      if (status === 422) return true;
      if (status === 401) return false;
      throw new NotSent(status, json, headers.get("X-Request-Id") ?? "");
    }

    /** Sends one lead and follows the retry policy. Store the event_id that it returns. */
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
        const canRetry = status === 0 || status === 200 || status === 202 || status === 429 || status >= 500;
        // A 429 does not count as a failure.
        if (status !== 429) failures++;
        if (!canRetry || failures === triesMax) {
          throw new NotSent(status, json, headers.get("X-Request-Id") ?? "");
        }
        // In seconds, at most a day; an edge proxy may send a date instead, which counts as 0.
        const retryAfterMs = Math.min(Number(headers.get("Retry-After")) || 0, 86_400) * 1000;
        const backoffMs = Math.random() * Math.min(waitMsMax, 250 * 2 ** waits);
        await new Promise((done) => setTimeout(done, retryAfterMs + backoffMs));
      }
    }
  `);
}

/** A program that uses the client module. */
export const clientProgram = dedent(`
  // send.ts: run it with a sandbox key in LEADS_API_KEY.
  import { checkKey, NotSent, sendLead } from "./lead_intake.ts";

  const key = process.env.LEADS_API_KEY ?? "";
  if (!await checkKey(key)) throw new Error("The key is not accepted: alert a person");

  try {
    const lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "kitchen" };
    const { event_id, status, flags } = await sendLead(key, lead, "${clientIdempotencyKey}");
    console.log(status, event_id, flags);
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
    // On 401, alert a person. On 422, show fields and detail.
    console.error(error.message, error.fields, error.detail);
    process.exitCode = 1;
  }
`);
