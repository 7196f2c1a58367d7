/** Defines `ctl find`. */

import { readingsOf } from "#src/lead/identifier.ts";
import { find, type Findings, type Found, foundMax } from "#src/store/operator/find.ts";
import { SearchTimeout, searchTimeoutMs } from "#src/store/operator/search_entry.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";
import { whatHappened } from "#src/store/operator/what_happened.ts";
import { type Command, Refused, UsageError } from "./command.ts";
import { shortTime, table } from "./terminal.ts";

const command: Command = {
  words: "find",
  positionals: ["TEXT…"],
  summary: "Find a lead, submission, collision or refused post by an identifier",
  notes:
    `TEXT is an event or submission id, an X-Request-Id, an Idempotency-Key, an external_id, a phone number
in any format, an email address, or the beginning of a last name or full name; it is recognized by its
shape, and all readings are tried. Prints the newest ${foundMax} results of all tenants, each with what happened.
Duplicates and refused posts are kept for 30 days, and appear after a few seconds. What was erased is found
by its id only. If nothing is found, the exit status is 1.`,
  statementTimeoutMs: searchTimeoutMs,
  prepare(input) {
    const readings = readingsOf(input.positionals.join(" "));
    if (typeof readings === "string") {
      throw new UsageError(`${readings}; for example: ctl find '(415) 555-0171'`);
    }
    return async (pool) => {
      const findings = await find({ pool, searchPool: pool }, readings).catch((error) => {
        throw error instanceof SearchTimeout ? new Refused(error.message, { cause: error }) : error;
      });
      const { found, isMore, mayMissNewest } = findings;
      return {
        json: {
          found: found.map(foundJson),
          is_more: isMore,
          may_miss_newest: mayMissNewest,
        },
        text: found.length === 0
          ? `Nothing found. The text looks like ${readings.looksLike}.`
          : foundText(findings),
        ...(mayMissNewest
          ? { warning: "Posts of the last seconds may be missing: they could not be indexed in time." }
          : {}),
        hasFailures: found.length === 0,
      };
    };
  },
};

function foundText({ found, isMore }: Findings): string {
  const rows = table(found, "", {
    "POSTED (UTC)": ({ at }) => shortTime(at),
    "TENANT": ({ tenant }) => tenant,
    "SOURCE": ({ source }) => source,
    "ID": idOf,
    "WHAT HAPPENED": whatHappened,
  });
  return isMore ? `${rows}\n\nThe newest ${foundMax}. There are more: narrow your search.` : rows;
}

/** Returns what `ctl` shows more of. */
function idOf(found: Found): string {
  if (found.kind === "event") return found.event.eventId;
  return found.kind === "collision"
    ? `collision ${found.collision.id}`
    : found.eventId ?? `key ${found.keyId}`;
}

function foundJson(found: Found) {
  const { kind, at, tenant, source } = found;
  const common = { kind, at, tenant, source, what_happened: whatHappened(found) };
  switch (found.kind) {
    case "event":
      return { ...common, event_id: found.event.eventId, state: found.event.state };
    case "collision":
      return { ...common, collision: found.collision.id, event_id: found.collision.eventId };
    case "posts":
      // The names of fields stay as sent.
      return { ...common, ...snakeCased(found), fields: found.fields };
  }
}

export const findCommands: readonly Command[] = [command];
