/**
 * Stored events, as the operator lists and shows them.
 *
 * @module
 */

import type postgres from "postgres";
import { ask, isoOf } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import type { SubmissionVerdict } from "../serving/accept.ts";
import { snakeCased } from "./snake_case.ts";

/**
 * Where an event stands. `sending`: claimed, under a lease that has not run out; `held`: a form submission that is not
 * delivered unless an operator releases it; `erased`: its content went before it was delivered.
 */
export type DeliveryState = "held" | "pending" | "sending" | "delivered" | "dead" | "erased";

/** One attempt to deliver an event. */
export interface Attempt {
  /** From 1; never begins anew, not even after a replay. */
  readonly number: number;
  /** When it began, or for a lost one when the loss was found; ISO 8601, UTC. */
  readonly at: string;
  /** `lost`: the process that made it ended. */
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost";
  /** The HTTP status, where there was one. */
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  /** Whether it counts towards the attempts after which an event is dead. */
  readonly spent: boolean;
}

/** The whole story of one event; times are ISO 8601, UTC. */
type Delivery =
  & { readonly attempts: readonly Attempt[] }
  & (
    | { readonly state: "pending"; readonly dueAt: string; readonly reason: string | null }
    | { readonly state: "sending"; readonly leaseUntil: string }
    | { readonly state: "held" | "delivered" | "erased" }
    | { readonly state: "dead"; readonly diedAt: string; readonly reason: string | null }
  );

interface DeliveryRow {
  state: DeliveryState;
  dueAt: string;
  leaseUntil: string;
  diedAt: string;
  reason: string | null;
  attempts: Attempt[];
}

// Of the outbox row o, the dead letter d, the held submission s and the event r whose content is removed.
const stateOf = (sql: postgres.Sql) =>
  sql`case
    when d.event_id is not null then 'dead'
    when o.lease_until > service_clock() then 'sending'
    when o.event_id is not null then 'pending'
    when r.event_id is not null and not exists (
      select from attempt as a where a.event_id = r.event_id and a.outcome = 'delivered'
    ) then 'erased'
    when s.event_id is not null then 'held'
    else 'delivered'
  end`;

/** Where events stand, in the order of the ids, which must be those of events. */
export async function readStates(pool: Pool, eventIds: readonly string[]): Promise<DeliveryState[]> {
  return (await readDeliveries(pool, eventIds)).map(({ state }) => state);
}

/**
 * The deliveries of events, in the order of the ids. An event that is neither in the outbox nor dead nor held nor erased
 * is delivered; so the ids must be those of events.
 */
async function readDeliveries(pool: Pool, eventIds: readonly string[]): Promise<Delivery[]> {
  const rows = await ask(pool, (sql) => {
    return sql<DeliveryRow[]>`
      select
        ${stateOf(sql)} as state,
        ${isoOf(sql, sql`o.due_at`)} as "dueAt",
        ${isoOf(sql, sql`o.lease_until`)} as "leaseUntil",
        ${isoOf(sql, sql`d.died_at`)} as "diedAt",
        case
          when d.event_id is not null then d.reason
          when not t.sandbox and not t.has_route then 'no_route'
          else o.reason
        end as reason,
        coalesce(
          (
            select json_agg(
              json_build_object(
                'number', a.number, 'at', ${isoOf(sql, sql`a.at`)}, 'outcome', a.outcome,
                'status', a.status, 'reason', a.reason, 'durationMs', a.duration_ms, 'spent', a.spent
              )
              order by a.number
            )
            from attempt as a where a.event_id = i.event_id collate "C"
          ),
          '[]'
        ) as attempts
      from unnest(${[...eventIds]}::text[]) with ordinality as i (event_id, ord)
      left join outbox as o on o.event_id = i.event_id collate "C"
      left join dead_letter as d on d.event_id = i.event_id collate "C"
      left join submission as s
        on s.event_id = i.event_id collate "C" and s.verdict <> 'clean' and s.released_at is null
      left join event as r on r.event_id = i.event_id collate "C" and r.removed_at is not null
      left join tenant as t on t.id = o.tenant_id
      order by i.ord`;
  });
  return rows.map(delivery);
}

function delivery({ state, dueAt, leaseUntil, diedAt, reason, attempts }: DeliveryRow): Delivery {
  switch (state) {
    case "pending":
      return { state, dueAt, reason, attempts };
    case "sending":
      return { state, leaseUntil, attempts };
    case "dead":
      return { state, diedAt, reason, attempts };
    default:
      return { state, attempts };
  }
}

/** What a list shows of an event: no content of the lead. */
export interface ListedEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  /** The label of the key that posted it. */
  readonly source: string;
  /** ISO 8601, UTC, as the acknowledgement had it. */
  readonly receivedAt: string;
  readonly flags: readonly string[];
  readonly idempotencyKey: string | null;
  readonly state: DeliveryState;
}

/** What was found of a form submission. */
interface FoundSubmission {
  readonly formKey: string;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  /** Names only. */
  readonly reasons: readonly string[];
  /** When an operator has released it, ISO 8601, UTC. */
  readonly releasedAt: string | null;
  /** When an operator has left it held for good, ISO 8601, UTC. */
  readonly dismissedAt: string | null;
  /** What an operator has said that it is. */
  readonly label: "ham" | "spam" | null;
  /** The last four digits of the number that its fields hold. */
  readonly phoneEnd: string | null;
}

/** A whole event. The three texts are `null` once its content is removed. */
export interface StoredEvent extends ListedEvent {
  /** By what and when (ISO 8601, UTC); `null` while the content is there. */
  readonly removed: { readonly by: "erasure" | "retention"; readonly at: string } | null;
  readonly delivery: Delivery;
  /** Of the key that posted it. */
  readonly keyId: string;
  readonly last4: string;
  readonly keyRevokedAt: string | null;
  readonly sandbox: boolean;
  /** Its tenant has one. */
  readonly hasRoute: boolean;
  /** `k`, `K`: a repeat is known by its Idempotency-Key; `c`, `C`: by its content. */
  readonly dedupeSpace: string;
  /** The collision that it was accepted from by an operator, and its event; `null`: it was accepted as it came. */
  readonly acceptedFrom: { readonly collision: string; readonly eventId: string } | null;
  /** What came under its Idempotency-Key and was kept aside, the earliest first. */
  readonly collisions: readonly {
    readonly id: string;
    readonly firstAt: string;
    readonly count: number;
    /** The event that it became, when an operator has accepted it. */
    readonly acceptedEventId: string | null;
  }[];
  /** `null` for a lead. */
  readonly found: FoundSubmission | null;
  /** The text of the normalized lead's JSON. */
  readonly lead: string | null;
  /** The text of a JSON object, or `null` when there was nothing outside the envelope. */
  readonly extra: string | null;
  /** The body as posted. */
  readonly raw: string | null;
}

type EventRow = Omit<ListedEvent, "state">;

// Of an event e, its tenant t and its key k.
const listed = (sql: postgres.Sql) =>
  sql`e.event_id as "eventId", e.kind, t.slug as tenant, k.label as source, e.flags,
    e.idempotency_key as "idempotencyKey", ${isoOf(sql, sql`e.received_at`)} as "receivedAt"`;

/** Which events to list; `null` leaves a choice open. */
interface EventFilter {
  readonly tenantId: number | null;
  readonly kind: ListedEvent["kind"] | null;
  /** Only those received since then; ISO 8601. */
  readonly since: string | null;
  readonly limit: number;
}

/** Leads and form submissions, the newest first. It walks the primary key from its end: ids sort by acceptance. */
export async function listLeads(pool: Pool, filter: EventFilter): Promise<ListedEvent[]> {
  const rows = await ask(pool, (sql) => {
    const ofTenant = filter.tenantId === null ? sql`` : sql`and e.tenant_id = ${filter.tenantId}`;
    const ofKind = filter.kind === null ? sql`` : sql`and e.kind = ${filter.kind}`;
    const since = filter.since === null
      ? sql``
      : sql`and e.event_id >= event_id_at(${filter.since}::timestamptz)`;
    return sql<EventRow[]>`
      select ${listed(sql)}
      from (
        select * from event as e where true ${ofKind} ${ofTenant} ${since}
        order by e.event_id desc limit ${filter.limit}
      ) as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      order by e.event_id desc`;
  });
  const states = await readStates(pool, rows.map(({ eventId }) => eventId));
  return rows.map((row, index) => ({ ...row, state: states[index] as DeliveryState }));
}

// An event has seldom one.
const collisionsMax = 50;

/**
 * The events with these ids; `null` in the place of one that does not exist. Without the body as posted, `raw` is
 * `null`: it may be as long as all else together.
 */
export async function readEvents(
  pool: Pool,
  eventIds: readonly string[],
  { withRaw }: { readonly withRaw: boolean } = { withRaw: true },
): Promise<(StoredEvent | null)[]> {
  const rows = await ask(pool, (sql) =>
    sql<Omit<StoredEvent, "state" | "delivery">[]>`
      select
        ${listed(sql)}, k.id::text as "keyId", k.last4, ${
      isoOf(sql, sql`k.revoked_at`)
    } as "keyRevokedAt", t.sandbox,
        t.has_route as "hasRoute", e.dedupe_space::text as "dedupeSpace", e.lead::text as lead, e.extra, ${
      withRaw ? sql`e.raw` : sql`null::text as raw`
    },
        case when e.removed_by is not null and e.removed_at is not null then json_build_object(
          'by', e.removed_by, 'at', ${isoOf(sql, sql`e.removed_at`)}
        ) end as removed,
        (
          select json_build_object('collision', c.id::text, 'eventId', c.event_id)
          from collision as c where c.accepted_event_id = e.event_id
        ) as "acceptedFrom",
        (
          select coalesce(json_agg(
            json_build_object(
              'id', c.id::text, 'firstAt', ${isoOf(sql, sql`c.first_at`)}, 'count', c.count,
              'acceptedEventId', c.accepted_event_id
            ) order by c.id
          ), '[]')
          from (
            select * from collision as c where c.event_id = e.event_id order by c.id limit ${collisionsMax}
          ) as c
        ) as collisions,
        case when f.form_key is not null then json_build_object(
          'formKey', f.form_key, 'verdict', s.verdict, 'score', s.score, 'reasons', s.reasons,
          'releasedAt', ${isoOf(sql, sql`s.released_at`)},
          'dismissedAt',
          case when e.lead is not null then ${isoOf(sql, sql`s.dismissed_at`)} end,
          'label', s.label, 'phoneEnd', right(s.phone, 4)
        ) end as found
      from event as e
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      left join submission as s on s.event_id = e.event_id
      left join form as f on f.id = s.form_id
      where e.event_id = any (${[...eventIds]}::text[])`);
  const deliveries = await readDeliveries(pool, rows.map(({ eventId }) => eventId));
  const events = new Map(
    rows.map((row, index) => {
      const delivery = deliveries[index] as Delivery;
      return [row.eventId, { ...row, delivery, state: delivery.state }];
    }),
  );
  return eventIds.map((id) => events.get(id) ?? null);
}

/** The members of an event that hold no content. */
export function headingJson(
  { eventId, kind, tenant, source, receivedAt, flags, idempotencyKey }: Omit<ListedEvent, "state">,
) {
  return snakeCased({ eventId, kind, tenant, source, receivedAt, flags, idempotencyKey });
}

/** What was found of a form submission; nothing of a lead. */
export function foundJson({ found }: StoredEvent) {
  if (found === null) return {};
  const { phoneEnd: _, label: __, ...rest } = found;
  return snakeCased(rest);
}

/** The other event when a collision was accepted as an event of its own; nothing of all others. */
export function acceptedJson({ acceptedFrom, collisions }: StoredEvent) {
  const accepted = collisions.filter(({ acceptedEventId }) => acceptedEventId !== null);
  return snakeCased({
    ...(acceptedFrom === null ? {} : { acceptedFrom }),
    ...(accepted.length === 0 ? {} : {
      acceptedCollisions: accepted.map(({ id, acceptedEventId }) => ({
        collision: id,
        eventId: acceptedEventId,
      })),
    }),
  });
}

/** What has removed the content of an event, in a word. */
export function goneWord({ removed }: StoredEvent): "erased" | "expired" {
  return removed?.by === "retention" ? "expired" : "erased";
}

/** What has removed the content, and when; nothing while it is there. */
export function removedJson(event: StoredEvent) {
  return event.lead === null ? { content: goneWord(event), removed_at: event.removed?.at ?? null } : {};
}
