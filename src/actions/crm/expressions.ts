/** Evaluates the expressions of recipes in a thread that is ended at a deadline, so that none of them can stall the process. */

import type { Clocks } from "../../process/deadline_thread.ts";
import { FairThreads } from "../../process/fair_threads.ts";
import type { EventToRender } from "../destination.ts";

export interface Expression {
  /** The member of the recipe, for messages. */
  readonly name: string;
  readonly text: string;
  /** The form of the result: a text, JSON, the fields of a form, or any value as JSON. */
  readonly as: "text" | "json" | "form" | "value";
  readonly seesSecrets?: true;
}

/** A CRM's response. */
export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; expressions see it parsed if it is JSON. */
  readonly text: string;
}

/** What an expression sees besides the event. */
export interface Scope {
  readonly settings: Readonly<Record<string, string>>;
  readonly kept: Readonly<Record<string, unknown>>;
  /** What else the token's response held, as JSON. */
  readonly token: string;
  readonly response?: Response | undefined;
}

export interface Job {
  readonly event: EventToRender;
  readonly scope: Scope;
  readonly secrets: Readonly<Record<string, string>>;
  /** If this expression is false or has no value, the others are not evaluated. */
  readonly when?: string | undefined;
  readonly expressions: readonly Expression[];
}

export interface ExpressionFault {
  /** May quote the lead and the secrets, and may be long. */
  readonly message: string;
  /** The place in the expression, from 1. */
  readonly position: number | null;
}

/** An expression's result; `null` if it has no value. */
export type Value =
  | { readonly name: string; readonly text: string | null }
  | { readonly name: string; readonly fault: ExpressionFault };

/** The values, in order; `null` if `when` is false. A job that was ended or got no thread has one value, with the fault. */
export type JobResult = readonly Value[] | null;

/** The name of the value of a job whose thread was ended, and of one that got no thread in time. */
export const endedThread = "expressions";
export const noThread = "queue";

const threadOptions = {
  program: new URL("./expression_thread.ts", import.meta.url),
  // Chosen: 250 ms of processor time (DECISIONS, CRM); a shipped recipe's expression takes less than one.
  deadlineMs: 250,
  heapMbMax: 64,
  // Chosen: 3.5 s, because an attempt's time is limited; its event then waits and comes back.
  queueMsMax: 3_500,
};

export class Expressions {
  readonly #threads: FairThreads<Job, JobResult>;

  constructor(clocks: Clocks) {
    this.#threads = new FairThreads({ ...threadOptions, clocks });
  }

  async evaluate(tenant: string, job: Job): Promise<JobResult> {
    const ended = await this.#threads.run(tenant, job);
    if (ended.kind === "done") return ended.result;
    const [name, message] = ended.kind === "busy"
      ? [noThread, "No thread is free"]
      : [endedThread, ended.why];
    return [{ name, fault: { message, position: null } }];
  }

  close(): void {
    this.#threads.close();
  }
}
