/** Defines the `ctl collision` commands. */

import {
  acceptCollision,
  dismissCollision,
  listCollisions,
  type ListedCollision,
  readCollision,
  type StoredCollision,
} from "#src/store/operator/collisions.ts";
import { type Command, Refused } from "./command.ts";
import { contentName, contentPairs, verbatimJson } from "./event_text.ts";
import { block, record, shortTime, table } from "./terminal.ts";
import { parseId } from "./values.ts";
import { listCommand } from "./list.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

const list = listCommand({
  words: "collision list",
  isTenantScoped: true,
  options: {
    open: { description: "only collisions that are neither accepted nor dismissed" },
    other: { description: "only collisions that may be from a person other than the first event's" },
  },
  limit: 50,
  summary: "List leads that reused the Idempotency-Key of another lead",
  notes: `The service answered 200 duplicate and set the post aside. PERSON is different if the phone or email
differs, or if neither can be compared. If the post is from another person, its lead is lost until
ctl collision accept delivers it; ctl collision dismiss closes the collision. Tell the sender to prefix
its Idempotency-Keys with its own name.`,
  prepare: (input) => (pool, page) =>
    listCollisions(pool, { ...page, isOpen: input.has("open"), otherPerson: input.has("other") }),
  empty: "No collisions.",
  columns: {
    "LAST (UTC)": (collision) => shortTime(collision.lastAt),
    ">ID": (collision) => collision.id,
    "STATE": (collision) => collision.state,
    "PERSON": (collision) => collision.otherPerson ? "different" : "the same",
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
  summary: "Compare a collision with the lead that was accepted",
  prepare(input) {
    const id = parseId(input.first, "ctl collision list");
    return async (pool) => {
      const collision = await readCollision(pool, id);
      if (collision === null) throw noSuchCollision(id);
      return { json: collisionJson(collision), text: collisionText(collision) };
    };
  },
};

function collisionJson({ kind, lead, extra, raw, accepted, ...heading }: StoredCollision) {
  const name = contentName(kind);
  return {
    ...snakeCased(heading),
    [name]: verbatimJson(lead),
    extra: verbatimJson(extra ?? "{}"),
    raw,
    accepted: {
      source: accepted.source,
      received_at: accepted.receivedAt,
      [name]: verbatimJson(accepted.lead),
      extra: verbatimJson(accepted.extra ?? "{}"),
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
  const setAside = new Map(collision.lead === null ? [] : contentPairs(collision.kind, collision.lead));
  const stored = new Map(accepted.lead === null ? [] : contentPairs(collision.kind, accepted.lead));
  if (collision.extra !== null) setAside.set("extra", collision.extra);
  if (accepted.extra !== null) stored.set("extra", accepted.extra);
  const differing = [...new Set([...stored.keys(), ...setAside.keys()])]
    .filter((name) => stored.get(name) !== setAside.get(name));
  return [
    record([
      ["Collision", collision.id],
      ["Tenant", collision.tenant],
      ["Source", collision.source],
      ["Idempotency-Key", collision.idempotencyKey ?? "-"],
      ["Posted", `${collision.count} × from ${collision.firstAt} to ${collision.lastAt}`],
      ["State", stateText(collision)],
      [
        "Person",
        collision.otherPerson
          ? "different: the phone or email differs, or neither can be compared"
          : "the same",
      ],
      ["First event", `${collision.eventId} (source ${accepted.source}, ${accepted.receivedAt})`],
    ]),
    `Differences\n${
      table(differing, "  none, or erased", {
        "  FIELD": (name) => `  ${name}`,
        "ACCEPTED": (name) => stored.get(name) ?? "-",
        "SET ASIDE": (name) => setAside.get(name) ?? "-",
      })
    }`,
    `Body as posted\n${collision.raw === null ? "  erased" : block(collision.raw)}`,
  ].join("\n\n");
}

const noSuchCollision = (id: string) => new Refused(`There is no collision ${id}; see ctl collision list`);

const accept: Command = {
  words: "collision accept",
  positionals: ["ID"],
  summary: "Accept a collision as a separate lead",
  notes: `The collision becomes a separate event, received now, with the tenant, key and source of its post
and without an Idempotency-Key, and is delivered like any other. Its cost is charged. The audit records who
accepted it; ctl collision show and ctl lead show name both events.`,
  prepare(input) {
    const id = parseId(input.first, "ctl collision list");
    return async (pool) => {
      const outcome = await acceptCollision(pool, id, null);
      switch (outcome.kind) {
        case "accepted":
          return {
            json: { id, accepted_event_id: outcome.eventId },
            text: `Accepted as ${outcome.eventId}; delivery starts immediately.`,
          };
        case "already":
          throw new Refused(
            `Collision ${id} has already been accepted; ctl lead show ${outcome.eventId} shows its delivery`,
          );
        case "erased":
          throw new Refused(`Collision ${id} has been erased; there is nothing left to accept`);
        case "busy":
          throw new Refused(
            `Nothing was changed: an erasure that may include collision ${id} is running, or its key is being revoked; try again in a minute`,
          );
        case "unknown":
          throw noSuchCollision(id);
      }
    };
  },
};

const dismiss: Command = {
  words: "collision dismiss",
  positionals: ["ID…"],
  summary: "Close collisions without accepting them",
  notes:
    `You can still show and accept them. The audit records who dismissed them. A collision that is already
settled does not change.`,
  prepare(input) {
    const ids = input.positionals.map((text) => parseId(text, "ctl collision list"));
    return async (pool) => {
      for (const id of ids) {
        if (await dismissCollision(pool, id, null) === "unknown") throw noSuchCollision(id);
      }
      return { json: { ids, dismissed: true }, text: `Dismissed ${ids.join(", ")}.` };
    };
  },
};

export const collisionCommands: readonly Command[] = [list, show, accept, dismiss];
