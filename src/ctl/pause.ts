/** Defines `ctl tenant pause` and `ctl tenant resume`. */

import type { Command, Input } from "./command.ts";
import { noSuchTenant, requireTenant } from "./list.ts";
import { boundedText, safe, shortTime } from "./terminal.ts";
import { parseLine, parseSlug } from "./values.ts";
import { destinationKinds } from "#src/store/delivery/effects.ts";
import { sumBounded } from "#src/store/operator/admin_pool.ts";
import {
  type Pause,
  type PauseChange,
  pauseReasonLengthMax,
  type PauseScope,
  pauseSubject,
  pauseTenant,
  readPauses,
  resumeCommand,
  resumeTenant,
} from "#src/store/operator/pauses.ts";

const scopeOptions = {
  crm: { description: "only its CRM" },
  email: { description: "only its emails" },
  slack: { description: "only its Slack messages" },
} as const;

function parseScopes(input: Input): readonly PauseScope[] {
  const kinds = destinationKinds.filter((kind) => input.has(kind));
  return kinds.length === 0 ? ["all"] : kinds;
}

/** Converts a pause to JSON. */
export function pauseJson({ scope, since, reason }: Pick<PauseChange, "scope" | "since" | "reason">) {
  return { destination: scope, since, reason };
}

/** Says since when and why something is paused. */
export function pauseText({ since, reason }: Pick<PauseChange, "since" | "reason">): string {
  return `since ${shortTime(since)} UTC${reason === null ? "" : ` (${safe(reason)})`}`;
}

const pause: Command = {
  words: "tenant pause",
  positionals: ["SLUG"],
  options: {
    reason: {
      value: "TEXT",
      description: `why, for other operators; at most ${pauseReasonLengthMax} characters`,
    },
    ...scopeOptions,
  },
  summary: "Accept a tenant's leads and submissions, but do not deliver them until you resume",
  notes: `Posts get the same responses as before. Deliveries wait as pending with the reason paused, spend no
attempts, and are sent immediately when you resume. A delivery that is in progress at this moment still
arrives. With --crm, --email or --slack, only these destinations wait; the others get each lead at once.

Nothing alerts you while a tenant is paused: ctl tenant list, ctl doctor, the console's overview and the
metric lead_delivery_paused show it. A daily digest waits too, if the tenant or its email is paused; a
route test (ctl tenant route SLUG --test) does not. Pausing again replaces the reason, if you give one.`,
  prepare(input) {
    const tenant = parseSlug(input.first);
    const scopes = parseScopes(input);
    const text = input.option("reason");
    const reason = text === undefined ? null : parseLine(text, "--reason", pauseReasonLengthMax);
    return async (pool) => {
      const changes = await pauseTenant(pool, { tenant, scopes, reason, operator: null });
      if (changes.length === 0) throw noSuchTenant(tenant);
      return {
        json: {
          tenant,
          paused: changes.map((change) => ({ ...pauseJson(change), unchanged: change.isUnchanged })),
        },
        text: changes.map((change) => {
          const subject = pauseSubject({ tenant, ...change });
          return change.isUnchanged
            ? `Nothing was changed: ${subject} have been paused ${pauseText(change)}.`
            : `Paused ${pauseText(change)}: ${subject}. Posts are accepted; ${
              resumeCommand({ tenant, ...change })
            } sends what waits.`;
        }).join("\n"),
      };
    };
  },
};

const resume: Command = {
  words: "tenant resume",
  positionals: ["SLUG"],
  options: scopeOptions,
  summary: "Deliver a paused tenant's leads and submissions again, at once",
  notes:
    `Without --crm, --email or --slack, it ends the pause of the whole tenant; destinations that were paused
by themselves stay paused.`,
  prepare(input) {
    const tenant = parseSlug(input.first);
    const scopes = parseScopes(input);
    return async (pool) => {
      const { id } = await requireTenant(pool, tenant);
      const before = await readPauses(pool, id);
      const changes = await resumeTenant(pool, { tenant, scopes, operator: null });
      const left = await readPauses(pool, id);
      return {
        json: {
          tenant,
          resumed: changes.map((change) => ({ ...pauseJson(change), unchanged: change.isUnchanged })),
          paused: left.map(pauseJson),
        },
        text: [
          ...changes.map((change) => {
            const subject = pauseSubject({ tenant, ...change });
            return change.isUnchanged
              ? `Nothing was changed: ${subject} were not paused.`
              : `Resumed: ${subject}; ${waitedText(before.filter(({ scope }) => scope === change.scope))}.`;
          }),
          ...left.map((one) =>
            `Still paused: ${pauseSubject(one)}, ${pauseText(one)}; ${resumeCommand(one)}`
          ),
        ].join("\n"),
      };
    };
  },
};

function waitedText(pauses: readonly Pause[]): string {
  const total = sumBounded(pauses.map(({ waiting }) => waiting));
  return total.count === 0 ? "nothing waited" : `${boundedText(total, "event")} waited`;
}

export const pauseCommands: readonly Command[] = [pause, resume];
