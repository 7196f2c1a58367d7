/**
 * `ctl collision …`
 *
 * @module
 */

import {
  listCollisions,
  type ListedCollision,
  readCollision,
  type StoredCollision,
} from "#src/store/operator/collisions.ts";
import { type Command, Refused } from "./command.ts";
import { contentName, contentPairs, spliced } from "./lead.ts";
import { optionalTenantId, tenantOption } from "./tenant.ts";
import { block, record, shortTime, table } from "./terminal.ts";
import { limitOption, newest, parseId, readLimit } from "./values.ts";

function heading(collision: ListedCollision) {
  return {
    id: collision.id,
    event_id: collision.eventId,
    tenant: collision.tenant,
    source: collision.source,
    idempotency_key: collision.idempotencyKey,
    count: collision.count,
    first_at: collision.firstAt,
    last_at: collision.lastAt,
  };
}

const list: Command = {
  words: "collision list",
  positionals: [],
  options: { ...tenantOption, ...limitOption() },
  summary: "List leads that came under an Idempotency-Key of another lead",
  notes: `Such a post was answered 200 duplicate; it is no lead and is never delivered. Tell the
sender: its Idempotency-Keys need a namespace of their own.`,
  prepare(input) {
    const limit = readLimit(input);
    return async (pool) => {
      const tenantId = await optionalTenantId(pool, input.option("tenant"));
      const collisions = await listCollisions(pool, { tenantId, limit });
      const rows = table(collisions, "No collisions.", {
        ">ID": (collision) => collision.id,
        "TENANT": (collision) => collision.tenant,
        "SOURCE": (collision) => collision.source,
        ">COUNT": (collision) => String(collision.count),
        "FIRST (UTC)": (collision) => shortTime(collision.firstAt),
        "LAST": (collision) => shortTime(collision.lastAt),
        "ACCEPTED EVENT": (collision) => collision.eventId,
        "IDEMPOTENCY-KEY": (collision) => collision.idempotencyKey ?? "-",
      });
      return {
        json: collisions.map(heading),
        text: newest(rows, collisions.length, limit),
      };
    };
  },
};

const show: Command = {
  words: "collision show",
  positionals: ["ID"],
  options: {},
  summary: "Show what was kept aside beside the lead that was accepted",
  prepare(input) {
    const id = parseId(input.first, "ctl collision list");
    return async (pool) => {
      const collision = await readCollision(pool, id);
      if (collision === null) {
        throw new Refused(`There is no collision ${id}; ctl collision list shows those there are`);
      }
      return { json: collisionJson(collision), text: collisionText(collision) };
    };
  },
};

function collisionJson(collision: StoredCollision) {
  const name = contentName(collision.kind);
  const { accepted } = collision;
  return {
    ...heading(collision),
    [name]: spliced(collision.lead),
    extra: spliced(collision.extra ?? "{}"),
    raw: collision.raw,
    accepted: {
      source: accepted.source,
      received_at: accepted.receivedAt,
      [name]: spliced(accepted.lead),
      extra: spliced(accepted.extra ?? "{}"),
    },
  };
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
      ["Accepted event", `${collision.eventId} (source ${accepted.source}, ${accepted.receivedAt})`],
    ]),
    `Where they differ\n${
      table(differing, "  nowhere, or erased", {
        "  FIELD": (name) => `  ${name}`,
        "KEPT ASIDE": (name) => aside.get(name) ?? "-",
        "ACCEPTED": (name) => stored.get(name) ?? "-",
      })
    }`,
    `Kept aside, as posted\n${collision.raw === null ? "  erased" : block(collision.raw)}`,
  ].join("\n\n");
}

/** The commands of this noun. */
export const collisionCommands: readonly Command[] = [list, show];
