/**
 * What a check of `ctl doctor` is given, and what it finds.
 *
 * @module
 */

import type { ActionsConfig } from "#src/actions/config.ts";
import type { Config } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import type { ServerFacts } from "#src/store/operator/server_facts.ts";
import type { Pool } from "#src/store/pool.ts";

/** Green, yellow or red. */
export type State = "ok" | "warning" | "failure";

/** One line of the answer. */
export interface Finding {
  readonly state: State;
  /** What is so; no secret. */
  readonly text: string;
  /** The command or the setting that mends it. */
  readonly mend?: string;
}

/** The settings of one process, as its own reader has them. */
export interface Examined<Settings> {
  readonly config: Settings;
  readonly faults: readonly string[];
}

/** What there is to look at. */
export interface Situation {
  readonly environment: Environment;
  /** Where the settings were read, for people. */
  readonly source: string;
  /** The settings are a process's own, and not those of whoever runs the command. */
  readonly isOfProcess: boolean;
  /** `null`: none of its settings is there. */
  readonly service: Examined<Config> | null;
  readonly actions: Examined<ActionsConfig> | null;
  /** `null`: no address of a database is known. */
  readonly database: Database | null;
  /** By the login of the actions process, when the service's is {@linkcode Situation.database}. */
  readonly actionsDatabase: Database | null;
  /** Asked once, for all. */
  readonly tier: () => Promise<TierAnswer>;
  /** A file that a backup touches when it is done. */
  readonly backupStamp: string | null;
  readonly nowMs: number;
}

/** A database, and what it says of itself: asked once, for all. */
export interface Database {
  readonly url: string;
  /** The variable that names it. */
  readonly name: string;
  readonly pool: Pool;
  /** Rejects when it cannot be reached. */
  readonly facts: () => Promise<Seen<ServerFacts>>;
}

/** A value, and this machine's clock in the middle of the asking. */
interface Seen<Value> {
  readonly value: Value;
  readonly atMs: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
}

/** What the actions tier answered. */
export interface TierAnswer {
  readonly status: number;
  /** By its clock, to the second; `null`: it does not say. */
  readonly dateMs: number | null;
  readonly tookMs: number;
}

/** A check. It may throw: then that is what was found. */
export interface Check {
  readonly name: string;
  readonly run: (situation: Situation) => Promise<readonly Finding[]>;
}

/** All is well. */
export function ok(text: string): Finding {
  return { state: "ok", text };
}

/** It works, and should be seen to. */
export function warning(text: string, mend?: string): Finding {
  return { state: "warning", text, ...(mend === undefined ? {} : { mend }) };
}

/** It does not work, or leads could be lost. */
export function failure(text: string, mend?: string): Finding {
  return { state: "failure", text, ...(mend === undefined ? {} : { mend }) };
}

/** Asks something, and says when and how long. */
export async function seen<Value>(ask: () => Promise<Value>): Promise<Seen<Value>> {
  const startMs = performance.now();
  const sentAtMs = Date.now();
  const value = await ask();
  const tookMs = performance.now() - startMs;
  return { value, atMs: sentAtMs + tookMs / 2, tookMs };
}
