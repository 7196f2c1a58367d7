import type postgres from "postgres";
import { isoTime } from "./admin_pool.ts";
import type { Pool } from "../pool.ts";
import type { SubmissionVerdict } from "../serving/accept.ts";
import { query } from "../query.ts";
import { type LeadReturn, selectReturn } from "./returns.ts";
import { snakeCased } from "./snake_case.ts";

/**
 * `sending`: claimed; `held`: held as spam and not released; `erased`: the content was removed before delivery; `marked`: an
 * operator marked it as done, and nothing was sent.
 */
export type DeliveryState = "held" | "pending" | "sending" | "delivered" | "marked" | "dead" | "erased";

/** Returns when an attempt ended, ISO 8601, UTC. */
export function endedAt({ at, durationMs }: Attempt): string {
  return new Date(Date.parse(at) + (durationMs ?? 0)).toISOString();
}

export interface Attempt {
  /** The attempt's number, from 1; a replay continues the count. */
  readonly number: number;
  /** When the attempt started or, if it was lost, when the loss was detected; ISO 8601, UTC. */
  readonly at: string;
  /** `lost`: the sending process ended before it recorded an outcome; `marked`: not an attempt, but an operator's mark as done. */
  readonly outcome: "delivered" | "refused" | "unreachable" | "lost" | "marked";
  readonly status: number | null;
  readonly reason: string | null;
  readonly durationMs: number | null;
  /** Whether the attempt counts towards the maximum. */
  readonly spent: boolean;
}

/** Returns the status to show for an attempt: not the actions process's own 424, if the reason says what a CRM responded. */
export function shownStatus({ status, reason }: Attempt): number | null {
  return status === 424 && reason !== null ? null : status;
}

/** The state of an event's delivery. Times are ISO 8601, UTC. */
type Delivery =
  /** The last attempts, at most {@linkcode attemptsShownMax}, in order; the number of the first shows how many are missing. */
  & { readonly attempts: readonly Attempt[] }
  & (
    | { readonly state: "pending"; readonly dueAt: string; readonly reason: string | null }
    | { readonly state: "sending"; readonly leaseUntil: string }
    | { readonly state: "held" | "delivered" | "marked" | "erased" }
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

// A DeliveryState, from outbox row o, dead letter d, held submission s, event r without content, and p, the last attempt that
// ended the delivery.
const stateOf = (sql: postgres.Sql) =>
  sql`case
    when d.event_id is not null then 'dead'
    when o.lease_until > service_clock() then 'sending'
    when o.event_id is not null then 'pending'
    when p.outcome = 'marked' and not exists (
      select from attempt as a where a.event_id = i.event_id collate "C" and a.outcome = 'delivered'
    ) then 'marked'
    when p.outcome is not null then 'delivered'
    when r.event_id is not null then 'erased'
    when s.event_id is not null then 'held'
    else 'delivered'
  end`;

/** Chosen: twice the attempts of one delivery; replays and repeats add more. */
const attemptsShownMax = 50;

/** Reads the states of events, in the order of `eventIds`. */
export async function readStates(pool: Pool, eventIds: readonly string[]): Promise<DeliveryState[]> {
  return (await readDeliveries(pool, eventIds)).map(({ state }) => state);
}

/** Reads the deliveries of existing events, in the order of `eventIds`. */
async function readDeliveries(pool: Pool, eventIds: readonly string[]): Promise<Delivery[]> {
  const rows = await query(pool, (sql) => {
    return sql<DeliveryRow[]>`
      select
        ${stateOf(sql)} as state,
        ${isoTime(sql, sql`o.due_at`)} as "dueAt",
        ${isoTime(sql, sql`o.lease_until`)} as "leaseUntil",
        ${isoTime(sql, sql`d.died_at`)} as "diedAt",
        case
          when d.event_id is not null then d.reason
          when t.paused_at is not null then 'paused'
          when not t.sandbox and not t.has_route then 'no_route'
          else o.reason
        end as reason,
        coalesce(
          (
            select json_agg(
              json_build_object(
                'number', a.number, 'at', ${isoTime(sql, sql`a.at`)}, 'outcome', a.outcome,
                'status', a.status, 'reason', a.reason, 'durationMs', a.duration_ms, 'spent', a.spent
              )
              order by a.number
            )
            from (
              select * from attempt as a where a.event_id = i.event_id collate "C"
              order by a.number desc limit ${attemptsShownMax}
            ) as a
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
      left join lateral (
        select a.outcome from attempt as a
        where a.event_id = i.event_id collate "C" and a.outcome in ('delivered', 'marked')
        order by a.number desc limit 1
      ) as p on o.event_id is null and d.event_id is null
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

/** An event in a list, without content. */
export interface ListedEvent {
  readonly eventId: string;
  readonly kind: "lead" | "form";
  readonly tenant: string;
  readonly source: string;
  /** ISO 8601, UTC, as in the acknowledgment. */
  readonly receivedAt: string;
  readonly flags: readonly string[];
  readonly idempotencyKey: string | null;
  /** The `X-Request-Id` of the post that was accepted; `null` after the removal of the content. */
  readonly requestId: string | null;
  /** `null` unless the customer returned the lead. */
  readonly returned: LeadReturn | null;
  readonly state: DeliveryState;
}

/** The spam verdict on a submission, and operators' decisions about the submission. Times are ISO 8601, UTC. */
interface SubmissionReview {
  readonly formKey: string;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly releasedAt: string | null;
  /** When an operator dismissed the submission. */
  readonly dismissedAt: string | null;
  readonly label: "ham" | "spam" | null;
  /** The last four digits of the phone number. */
  readonly phoneEnd: string | null;
}

/** An event with its content; the content is `null` after its removal. */
export interface StoredEvent extends ListedEvent {
  readonly returned: LeadReturn & { readonly note: string | null } | null;
  /** Why and when (ISO 8601, UTC) the content was removed; `null` while the content is stored. */
  readonly removed: { readonly by: "erasure" | "retention"; readonly at: string } | null;
  readonly delivery: Delivery;
  /** The id of the key with which the event was posted. */
  readonly keyId: string;
  readonly last4: string;
  readonly keyRevokedAt: string | null;
  readonly sandbox: boolean;
  readonly hasRoute: boolean;
  /** How duplicates are detected: `k` and `K` by Idempotency-Key, `c` and `C` by content. */
  readonly dedupeSpace: string;
  /** The collision that an operator accepted as this event, and the event that has its Idempotency-Key. */
  readonly acceptedFrom: { readonly collision: string; readonly eventId: string } | null;
  /** The last collisions under the event's Idempotency-Key, at most {@linkcode collisionsMax}, earliest first. */
  readonly collisions: readonly {
    readonly id: string;
    readonly firstAt: string;
    readonly count: number;
    /** The event that an accepted collision became. */
    readonly acceptedEventId: string | null;
  }[];
  readonly submission: SubmissionReview | null;
  /** The normalized lead or the submission's fields, as JSON text. */
  readonly lead: string | null;
  /** The text of a JSON object; `null` if there were no fields outside the envelope. */
  readonly extra: string | null;
  readonly raw: string | null;
}

type EventRow = Omit<ListedEvent, "state">;

// The columns of an EventRow, from event e, its tenant t and its key k.
const listedColumns = (sql: postgres.Sql) =>
  sql`e.event_id as "eventId", e.kind, t.slug as tenant, k.label as source, e.flags,
    e.idempotency_key as "idempotencyKey", e.request_id as "requestId", ${
    isoTime(sql, sql`e.received_at`)
  } as "receivedAt"`;

/** Selects events; a member that is `null` selects all. */
interface EventFilter {
  readonly tenantId: number | null;
  /** ISO 8601. */
  readonly since: string | null;
  readonly limit: number;
}

/** Lists leads and submissions, newest first. */
export async function listLeads(pool: Pool, filter: EventFilter): Promise<ListedEvent[]> {
  const rows = await query(pool, (sql) =>
    sql<EventRow[]>`
      select ${listedColumns(sql)}, ${selectReturn(sql)} as returned
      from (${newestIds(sql, filter)}) as n
      join event as e on e.event_id = n.event_id
      join tenant as t on t.id = e.tenant_id
      join api_key as k on k.id = e.key_id
      order by e.event_id desc`);
  const states = await readStates(pool, rows.map(({ eventId }) => eventId));
  return rows.map((row, index) => ({ ...row, state: states[index] as DeliveryState }));
}

/** Selects the ids of the newest events; of a tenant, from as many index entries of each of its keys. */
function newestIds(sql: postgres.Sql, { tenantId, since, limit }: EventFilter) {
  const from = since === null ? sql`''` : sql`event_id_at(${since}::timestamptz)`;
  if (tenantId === null) {
    return sql`select e.event_id from event as e where e.event_id >= ${from} order by e.event_id desc limit ${limit}`;
  }
  return sql`
    select n.event_id
    from api_key as k
    cross join lateral (
      select e.event_id from event as e
      -- As in route_states.
      where (e.key_id, e.event_id) >= (k.id, ${from}) and (e.key_id, e.event_id) < (k.id + 1, '')
      order by e.key_id desc, e.event_id desc limit ${limit}
    ) as n
    where k.tenant_id = ${tenantId}
    order by n.event_id desc limit ${limit}`;
}

/** Finds a tenant's newest events, newest first. */
export async function newestEventIds(
  pool: Pool,
  { tenantId, limit }: { readonly tenantId: number; readonly limit: number },
): Promise<string[]> {
  const filter = { tenantId, since: null, limit };
  const rows = await query(pool, (sql) => sql<{ event_id: string }[]>`${newestIds(sql, filter)}`);
  return rows.map(({ event_id: id }) => id);
}

/** The maximum number of an event's collisions that are read. */
export const collisionsMax = 50;

/** Reads the events with these ids, in order; `null` for an unknown id. `withRaw: false` omits the posted bodies. */
export async function readEvents(
  pool: Pool,
  eventIds: readonly string[],
  { withRaw }: { readonly withRaw: boolean } = { withRaw: true },
): Promise<(StoredEvent | null)[]> {
  const rows = await query(pool, (sql) =>
    sql<Omit<StoredEvent, "state" | "delivery">[]>`
      select
        ${listedColumns(sql)}, ${
      selectReturn(sql, sql`, 'note', r.note`)
    } as returned, k.id::text as "keyId", k.last4, ${
      isoTime(sql, sql`k.revoked_at`)
    } as "keyRevokedAt", t.sandbox,
        t.has_route as "hasRoute", e.dedupe_space::text as "dedupeSpace", e.lead::text as lead, e.extra, ${
      withRaw ? sql`e.raw` : sql`null::text as raw`
    },
        case when e.removed_by is not null and e.removed_at is not null then json_build_object(
          'by', e.removed_by, 'at', ${isoTime(sql, sql`e.removed_at`)}
        ) end as removed,
        (
          select json_build_object('collision', c.id::text, 'eventId', c.event_id)
          from collision as c where c.accepted_event_id = e.event_id
        ) as "acceptedFrom",
        (
          select coalesce(json_agg(
            json_build_object(
              'id', c.id::text, 'firstAt', ${isoTime(sql, sql`c.first_at`)}, 'count', c.count,
              'acceptedEventId', c.accepted_event_id
            ) order by c.id
          ), '[]')
          from (
            select * from collision as c where c.event_id = e.event_id order by c.id desc limit ${collisionsMax}
          ) as c
        ) as collisions,
        case when f.form_key is not null then json_build_object(
          'formKey', f.form_key, 'verdict', s.verdict, 'score', s.score, 'reasons', s.reasons,
          'releasedAt', ${isoTime(sql, sql`s.released_at`)},
          'dismissedAt',
          case when e.lead is not null then ${isoTime(sql, sql`s.dismissed_at`)} end,
          'label', s.label, 'phoneEnd', right(s.phone, 4)
        ) end as submission
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

/** Returns an event's JSON members, without its content; `returned` only for a returned lead. */
export function summaryJson(
  { eventId, kind, tenant, source, receivedAt, flags, idempotencyKey, requestId, returned }: Omit<
    ListedEvent,
    "state"
  >,
) {
  const summary = { eventId, kind, tenant, source, receivedAt, flags, idempotencyKey, requestId };
  return snakeCased(returned === null ? summary : { ...summary, returned });
}

/** Returns the JSON members about a submission's spam verdict; none for a lead. */
export function verdictJson({ submission }: StoredEvent) {
  if (submission === null) return {};
  const { phoneEnd: _, label: __, ...rest } = submission;
  return snakeCased(rest);
}

/** Returns the JSON members about accepted collisions: the one that became this event, and those under its key. */
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

/** Returns why an event's content was removed: `erased` by an operator, or `expired`. */
export function removalKind({ removed }: StoredEvent): "erased" | "expired" {
  return removed?.by === "retention" ? "expired" : "erased";
}

/** Returns the JSON members about the removal of the content; none while the content is stored. */
export function removedJson(event: StoredEvent) {
  return event.lead === null ? { content: removalKind(event), removed_at: event.removed?.at ?? null } : {};
}
