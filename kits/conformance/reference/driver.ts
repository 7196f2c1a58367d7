/**
 * The reference driver.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { type CallOptions, Client, idempotencyKey, LeadsError } from "./client.ts";

interface Line {
  readonly id: string;
  readonly client?: string;
  readonly call: string;
  readonly base_url?: string | null;
  readonly key?: string | null;
  readonly ca_file?: string | null;
  readonly lead_json?: string;
  readonly idempotency_key?: string | null;
  readonly request_id?: string | null;
  readonly namespace?: string;
  readonly item?: string;
  readonly options?: { deadline_ms?: number; try_timeout_ms?: number; tries?: number };
  readonly random?: number | null;
  readonly real_time?: boolean;
  readonly cancel_after_waits?: number | null;
}

const clients = new Map<string, Client>();

function clientOf(line: Line): Client {
  const name = line.client ?? "";
  const known = clients.get(name);
  if (known !== undefined) return known;
  const random = line.random;
  const client = new Client({
    key: line.key ?? process.env.LEADS_API_KEY ?? null,
    baseUrl: line.base_url ?? process.env.LEADS_BASE_URL ?? null,
    ...(line.ca_file ? { ca: [...rootCertificates, readFileSync(line.ca_file, "utf8")] } : {}),
    tries: line.options?.tries ?? 5,
    tryTimeoutMs: line.options?.try_timeout_ms ?? 20_000,
    random: random === undefined || random === null ? Math.random : () => random,
  });
  clients.set(name, client);
  return client;
}

async function answer(line: Line): Promise<object> {
  const waits: number[] = [];
  const aborter = new AbortController();
  let skippedMs = 0;
  const call: CallOptions = {
    requestId: line.request_id ?? null,
    deadlineMs: line.options?.deadline_ms ?? 120_000,
    nowMs: () => Date.now() + skippedMs,
    signal: aborter.signal,
    sleep: async (ms) => {
      waits.push(ms);
      if (waits.length === line.cancel_after_waits) aborter.abort();
      else if (line.real_time) await delay(ms);
      else skippedMs += ms;
    },
  };
  try {
    const result = await perform(line, call);
    return { id: line.id, result, waits_ms: waits, text: inspect(result) };
  } catch (error) {
    if (!(error instanceof LeadsError)) throw error;
    const { kind, status, code, detail, requestId, tries, unknownOutcome, fields } = error;
    const told = {
      kind,
      status,
      code,
      detail,
      request_id: requestId,
      tries,
      unknown_outcome: unknownOutcome,
      fields,
    };
    return { id: line.id, error: told, waits_ms: waits, text: `${error.message} ${error} ${inspect(error)}` };
  }
}

function perform(line: Line, call: CallOptions): Promise<object> | object {
  if (line.call === "idempotency_key") {
    return { idempotency_key: idempotencyKey(line.namespace ?? "", line.item ?? "") };
  }
  const client = clientOf(line);
  if (line.call === "check_key") return client.checkKey(call);
  if (line.call === "vocabulary") return client.vocabulary(call);
  return client.postLead(line.lead_json ?? "", line.idempotency_key ?? "", call);
}

/** The lines of standard input. `node:readline` would end one at U+2028, too. */
async function* readLines(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of process.stdin.setEncoding("utf8")) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

const pending: Promise<unknown>[] = [];
for await (const text of readLines()) {
  pending.push(answer(JSON.parse(text)).then((reply) => process.stdout.write(`${JSON.stringify(reply)}\n`)));
}
await Promise.all(pending);
process.exit(0);
