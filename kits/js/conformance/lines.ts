/**
 * The driver protocol: a line in, a call of the kit, a line out. Both kits of this core are driven by it.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import {
  type CallOptions,
  type ClientSettings,
  type Clock,
  idempotencyKey,
  InvalidLeadError,
  LeadsError,
  MisconfiguredError,
} from "../src/core/exports.ts";
import type { IntakeClient } from "../src/core/client.ts";

/** A case's call; members that are not here are ignored. */
export interface Line {
  readonly id: string;
  readonly client?: string;
  readonly call: string;
  readonly base_url?: string | null;
  readonly key?: string | null;
  readonly ca_file?: string | null;
  readonly lead_json?: string;
  readonly idempotency_key?: string;
  readonly namespace?: string;
  readonly item?: string;
  readonly request_id?: string | null;
  readonly options?: { deadline_ms?: number; try_timeout_ms?: number; tries?: number } | null;
  readonly random?: number | null;
  readonly real_time?: boolean;
  readonly cancel_after_waits?: number | null;
}

/** Opens the kit's client. */
export type Open = (line: Line, settings: ClientSettings) => IntakeClient;

/** What a call has waited for. */
interface Waits {
  readonly realTime: boolean;
  readonly waitsMs: number[];
  /** Cancels as this wait begins. */
  readonly cancelAfter: number | null;
  readonly canceller: AbortController;
  /** Waits that were not slept. */
  skippedMs: number;
}

const running = new AsyncLocalStorage<Waits>();

/** The clock of each call: the real one, with the waits that were not slept. */
const clock: Clock = {
  now: () => performance.timeOrigin + performance.now() + (running.getStore()?.skippedMs ?? 0),
  async sleep(waitMs, signal) {
    const call = running.getStore() as Waits;
    call.waitsMs.push(waitMs);
    if (call.waitsMs.length === call.cancelAfter) call.canceller.abort();
    if (!call.realTime) {
      call.skippedMs += waitMs;
      // A wait is a turn of the event loop at least, which gives connections back.
      await new Promise((resolve) => setImmediate(resolve));
    } else if (signal?.aborted !== true) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  },
};

/** The lines of standard input. `node:readline` would end one at U+2028, too. */
export async function* readLines(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of process.stdin.setEncoding("utf8")) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Answers lines until the end of input, each as soon as it is read. */
export async function answerLines(open: Open): Promise<void> {
  const answer = answerer(open);
  const answers: Promise<void>[] = [];
  for await (const text of readLines()) {
    if (text.trim() === "") continue;
    answers.push(answer(JSON.parse(text)).then((result) => write(result)));
  }
  await Promise.all(answers);
}

/** Writes one whole line. */
export function write(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** Gives the answer to a line; equal `client` values share one client. */
export function answerer(open: Open): (line: Line) => Promise<object> {
  const clients = new Map<string, IntakeClient>();
  return (line) => {
    const waits: Waits = {
      realTime: line.real_time === true,
      waitsMs: [],
      cancelAfter: line.cancel_after_waits ?? null,
      canceller: new AbortController(),
      skippedMs: 0,
    };
    return running.run(waits, async () => {
      let ending: { result: unknown; text: string } | { error: unknown; text: string };
      try {
        const result = await perform(line, () => clientOf(clients, open, line), waits.canceller.signal);
        ending = { result, text: inspect(result, { depth: 9 }) };
      } catch (error) {
        ending = { error: told(error), text: textOf(error) };
      }
      const client = clients.get(line.client ?? line.id);
      const text = `${ending.text}\n${inspect(client, { depth: 9, showHidden: true })}\n${
        JSON.stringify(client)
      }`;
      return { id: line.id, ...ending, waits_ms: waits.waitsMs, text };
    });
  };
}

function clientOf(clients: Map<string, IntakeClient>, open: Open, line: Line): IntakeClient {
  const name = line.client ?? line.id;
  const client = clients.get(name) ?? open(line, {
    clock,
    tries: line.options?.tries,
    tryTimeoutMs: line.options?.try_timeout_ms,
    random: typeof line.random === "number" ? () => line.random as number : undefined,
  });
  clients.set(name, client);
  return client;
}

async function perform(line: Line, client: () => IntakeClient, signal: AbortSignal): Promise<unknown> {
  const options: CallOptions = {
    requestId: line.request_id ?? undefined,
    deadlineMs: line.options?.deadline_ms,
    signal,
  };
  switch (line.call) {
    case "idempotency_key":
      return { idempotency_key: idempotencyKey(line.namespace ?? "", line.item ?? "") };
    case "check_key": {
      const { verdict, requestId, tries } = await client().checkKey(options);
      return { verdict, request_id: requestId, tries };
    }
    case "vocabulary":
      return await client().vocabulary(options);
    case "post_lead": {
      const lead = line.lead_json ?? "{}";
      const ack = await client().postLead(lead, line.idempotency_key ?? "", options);
      const { eventId, status, receivedAt, source, flags, requestId, tries } = ack;
      return {
        event_id: eventId,
        status,
        received_at: receivedAt,
        source,
        flags,
        request_id: requestId,
        tries,
      };
    }
    default:
      throw new MisconfiguredError("There is no such call");
  }
}

function told(error: unknown): object {
  if (!(error instanceof LeadsError)) return { kind: "a fault of the kit" };
  return {
    kind: error.kind,
    status: error.status,
    code: error.code,
    detail: error.detail,
    request_id: error.requestId,
    tries: error.tries,
    unknown_outcome: error.unknownOutcome,
    ...(error instanceof InvalidLeadError ? { fields: error.fields } : {}),
  };
}

/** Everything that a log could make of an error. */
function textOf(error: unknown): string {
  const { message, stack, cause } = error as Error;
  const debug = inspect(error, { depth: 9, showHidden: true });
  return [message, String(error), debug, stack, inspect(cause), JSON.stringify(error)].join("\n");
}
