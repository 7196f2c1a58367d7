/** Erasures for the fault tests, and the check of the counts that they change. */

import assert from "node:assert/strict";
import { type Command, parseInput } from "../../../src/ctl/command.ts";
import { eraseCommands } from "../../../src/ctl/erase.ts";
import { openAdminPool } from "../../../src/store/operator/admin_pool.ts";
import { readStore } from "./store.ts";

/** What `ctl erase --json` prints. */
export interface Erasure {
  readonly events: number;
  readonly erased: readonly { readonly event_id: string; readonly state: string }[];
  readonly ended_at: string;
}

/** Runs `ctl erase` in this process, which is faster than starting one. */
export async function erase(databaseUrl: string, ...args: string[]): Promise<Erasure> {
  const command = eraseCommands[0] as Command;
  const pool = openAdminPool(databaseUrl);
  try {
    return (await command.prepare(parseInput(command, args))(pool)).json as Erasure;
  } finally {
    await pool.close();
  }
}

/** Asserts that `outbox_tally` equals the tables. */
export async function assertTally(databaseUrl: string): Promise<void> {
  const { counted, outbox, dead } = await readStore(databaseUrl);
  assert.deepEqual({ ...counted }, { pending: outbox.length, dead: dead.length });
}
