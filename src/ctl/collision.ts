/** `ctl collision …` */

import {
  acceptCollision,
  dismissCollision,
  listCollisions,
  type ListedCollision,
  readCollision,
  type StoredCollision,
} from "#src/store/operator/collisions.ts";
import { type Command, Refused } from "./command.ts";
import { contentName, contentPairs, spliced } from "./lead.ts";
import { block, record, shortTime, table } from "./terminal.ts";
import { parseId } from "./values.ts";
import { listCommand } from "./list.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

const list = listCommand({
  words: "collision list",
  isOfTenant: true,
  options: {
    open: { description: "only those neither accepted nor dismissed" },
    other: { description: "only those of another person: phone or email differ" },
  },
  limit: 50,
  summary: "List leads that came under an Idempotency-Key of another lead",
  notes: `Such a post was answered 200 duplicate and kept aside. One of another person is a lost lead:
ctl collision accept delivers it, ctl collision dismiss takes it off the open ones. Tell the
sender: its Idempotency-Keys need a namespace of their own.`,
  prepare: (input) => (pool, page) =>
    listCollisions(pool, { ...page, isOpen: input.has("open"), otherPerson: input.has("other") }),
  empty: "No collisions.",
  columns: {
    "LAST (UTC)": (collision) => shortTime(collision.lastAt),
    ">ID": (collision) => collision.id,
    "STATE": (collision) => collision.state,
    "PERSON": (collision) => collision.otherPerson ? "another" : "the same",
    "TENANT": (collision) => collision.tenant,
    "SOURCE": (collision) => collision.source,
    "IDEMPOTENCY-KEY": (collision) => collision.idempotencyKey ?? "-",
    ">COUNT": (collision) => String(collision.count),
    "EVENT": (collision) => collision.eventId,
  },
  json: ({ kind: _, ...heading }) => snakeCased(heading),
});

const show: Command = {
  words: "collision show",
  positionals: ["ID"],
  summary: "Show what was kept aside beside the lead that was accepted",
  prepare(input) {
    const id = parseId(input.first, "ctl collision list");
    return async (pool) => {
      const collision = await readCollision(pool, id);
      if (collision === null) {
        throw new Refused(none(id));
      }
      return { json: collisionJson(collision), text: collisionText(collision) };
    };
  },
};

function collisionJson({ kind, lead, extra, raw, accepted, ...heading }: StoredCollision) {
  const name = contentName(kind);
  return {
    ...snakeCased(heading),
    [name]: spliced(lead),
    extra: spliced(extra ?? "{}"),
    raw,
    accepted: {
      source: accepted.source,
      received_at: accepted.receivedAt,
      [name]: spliced(accepted.lead),
      extra: spliced(accepted.extra ?? "{}"),
    },
  };
}

function stateText({ state, settledAt, acceptedEventId }: ListedCollision): string {
  if (settledAt === null) return state;
  const at = shortTime(settledAt);
  return acceptedEventId === null ? `${state}, ${at} UTC` : `${state}, ${at} UTC, as ${acceptedEventId}`;
}

function collisionText(collision: StoredCollision): string {
  const { accepted } = collision;
  const aside = new Map(collision.lead === null ? [] : contentPairs(collision.kind, collision.lead));
  const stored = new Map(accepted.lead === null ? [] : contentPairs(collision.kind, accepted.lead));
  if (collision.extra !== null) aside.set("extra", collision.extra);
  if (accepted.extra !== null) stored.set("extra", accepted.extra);
  const differing = [...new Set([...stored.keys(), ...aside.keys()])]
    .filter((name) => stored.get(name) !== aside.get(name));
  return [
    record([
      ["Collision", collision.id],
      ["Tenant", collision.tenant],
      ["Source", collision.source],
      ["Idempotency-Key", collision.idempotencyKey ?? "-"],
      ["Posted", `${collision.count} × from ${collision.firstAt} to ${collision.lastAt}`],
      ["State", stateText(collision)],
      ["Person", collision.otherPerson ? "another: phone or email differ" : "the same"],
      ["First event", `${collision.eventId} (source ${accepted.source}, ${accepted.receivedAt})`],
    ]),
    `Where they differ\n${
      table(differing, "  nowhere, or erased", {
        "  FIELD": (name) => `  ${name}`,
        "ACCEPTED": (name) => stored.get(name) ?? "-",
        "KEPT ASIDE": (name) => aside.get(name) ?? "-",
      })
    }`,
    `Kept aside, as posted\n${collision.raw === null ? "  erased" : block(collision.raw)}`,
  ].join("\n\n");
}

const none = (id: string) => `There is no collision ${id}; ctl collision list shows those there are`;

const accept: Command = {
  words: "collision accept",
  positionals: ["ID"],
  summary: "Accept what was kept aside as a lead of its own",
  notes: `It gets an event of its own, received now, with the tenant, key and source of its post and without
an Idempotency-Key, and is delivered as any other. Its cost is charged. Who accepted it is noted
in the audit; ctl collision show and ctl lead show name both events.`,
  prepare(input) {
    const id = parseId(input.first, "ctl collision list");
    return async (pool) => {
      const outcome = await acceptCollision(pool, id, null);
      switch (outcome.kind) {
        case "accepted":
          return {
            json: { id, accepted_event_id: outcome.eventId },
            text: `Accepted as ${outcome.eventId}; it is due at once.`,
          };
        case "already":
          throw new Refused(
            `Collision ${id} has been accepted already; ctl lead show ${outcome.eventId} tells what became of it`,
          );
        case "erased":
          throw new Refused(`Collision ${id} has been erased; there is nothing left to accept`);
        case "busy":
          throw new Refused(
            `Nothing was done: an erasure that may include collision ${id} is running, or its key is being revoked; try again in a minute`,
          );
        case "unknown":
          throw new Refused(none(id));
      }
    };
  },
};

const dismiss: Command = {
  words: "collision dismiss",
  positionals: ["ID…"],
  summary: "Leave collisions where they are, and off the list of the open ones",
  notes: `Each can still be shown and accepted. Who dismissed it is noted in the audit. One that is settled
already stays as it is.`,
  prepare(input) {
    const ids = input.positionals.map((text) => parseId(text, "ctl collision list"));
    return async (pool) => {
      for (const id of ids) {
        if (await dismissCollision(pool, id, null) === "unknown") throw new Refused(none(id));
      }
      return { json: { ids, dismissed: true }, text: `Dismissed ${ids.join(", ")}.` };
    };
  },
};

/** The commands of this noun. */
export const collisionCommands: readonly Command[] = [list, show, accept, dismiss];
