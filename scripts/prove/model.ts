/**
 * Reads snapshots of the tables, compares them with the expected changes, and models the changes that deliveries and the
 * removal of content cause.
 *
 * @module
 */

import type postgres from "postgres";

/** A row's values by column. */
export type Row = Readonly<Record<string, unknown>>;
/** Rows by table and key. */
export type Rows = ReadonlyMap<string, Row>;
/** A row's key and its changed columns, or `null` if the row is deleted. */
export type Change = readonly [key: string, columns: Row | null];
/** Changes by key. */
export type Changes = Map<string, Row | null>;

/** In an expected row: any value except null. */
export const nonNull = Symbol("any");

/** The compared tables, each with the SQL expression for its rows' key. The omitted tables contain nothing that users see. */
const tables: Readonly<Record<string, string>> = {
  tenant: "slug",
  campaign: "id",
  api_key: "id",
  ip_limit: "network",
  form: "id",
  plan: "slug",
  event: "event_id",
  submission: "event_id",
  outbox: "event_id",
  dead_letter: "event_id",
  attempt: "event_id || '/' || number",
  collision: "id",
  search_entry: "regexp_replace(ref, '.*-', 'collision ')",
  area: "area",
  "actions.route": "id",
  "actions.effect": "event_id || '/' || route_id",
  audit: "id",
};
/** Running totals that the service maintains in separate tables. */
const totals = {
  tally: "select state as key, sum(delta)::int as sum from outbox_tally group by state",
  spend: "select campaign_id as key, spend_cents::int as sum from campaign_spend",
  term: "select tenant_id || ' ' || term as key, count::int as sum from unknown_area",
};

/** Reads all compared tables and running totals. */
export async function readRows(sql: postgres.Sql): Promise<Rows> {
  const rows = new Map<string, Row>();
  for (const [table, key] of Object.entries(tables)) {
    const all = await sql.unsafe(
      `select ${key} as key, to_jsonb(t) - 'last_used_at' as row from ${table} as t order by 1`,
    );
    for (const { key, row } of all) rows.set(`${table} ${key}`, row);
  }
  for (const [name, text] of Object.entries(totals)) {
    for (const { key, sum } of await sql.unsafe(text)) rows.set(`${name} ${key}`, { sum });
  }
  return rows;
}

/** Returns the rows of a table. */
export const rowsOf = (rows: Rows, table: string): Row[] =>
  [...rows].filter(([key]) => key.startsWith(`${table} `)).map(([, row]) => row);
/** Returns the row with this key, or an empty object. */
export const rowAt = (rows: Rows, key: string): Row => rows.get(key) ?? {};
/** Returns the event ids in the rows of a table that match a condition. */
export const idsOf = (rows: Rows, table: string, matches: (row: Row) => unknown): string[] =>
  rowsOf(rows, table).filter(matches).map(({ event_id: id }) => String(id));
/** Whether a row is a submission that is held and not yet released. */
export const isHeld = ({ verdict, released_at: since }: Row): boolean =>
  verdict !== undefined && verdict !== "clean" && since === null;
const differ = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
const isEmpty = (value: unknown) => value === null || value === false || value === 0 || String(value) === "";

/** Returns a message for each row that differs from the expected one, and for each running total that does not match its rows. */
export function findDifferences(
  before: Rows,
  after: Rows,
  { expected, hasTerms }: { readonly expected: Changes; readonly hasTerms: boolean },
): string[] {
  const wrong: string[] = [];
  for (const key of new Set([...before.keys(), ...after.keys(), ...expected.keys()])) {
    if (/^(audit|tally|spend|term) /.test(key)) continue;
    const change = expected.get(key);
    const [now, was] = [after.get(key), before.get(key)];
    if (change === null ? now !== undefined : change === undefined ? differ(now, was) : now === undefined) {
      wrong.push(`${key}: now ${JSON.stringify(now) ?? "(none)"}, before ${JSON.stringify(was) ?? "(none)"}`);
    }
    for (const column of Object.keys(change && now ? now : {})) {
      const value = now?.[column];
      const wanted = column in (change ?? {}) ? change?.[column] : was?.[column];
      const isWrong = wanted === nonNull
        ? value === null
        : wanted === undefined
        ? !isEmpty(value)
        : differ(value, wanted);
      if (isWrong) {
        wrong.push(
          `${key}: ${column} is ${JSON.stringify(value)}, expected ${
            wanted === nonNull ? "a value" : JSON.stringify(wanted ?? null)
          }`,
        );
      }
    }
  }
  const campaigns = new Map(rowsOf(after, "api_key").map((key) => [key.id, key.campaign_id]));
  const wanted = new Map<string, number>([
    ...["tally pending", "tally dead"].map((name) => [name, 0] as const),
    ...rowsOf(after, "campaign").map(({ id }) => [`spend ${id}`, 0] as const),
  ]);
  const add = (name: string, count: number) => wanted.set(name, (wanted.get(name) ?? 0) + count);
  add("tally pending", rowsOf(after, "outbox").length);
  add("tally dead", rowsOf(after, "dead_letter").length);
  for (
    const { event_id: id, kind, key_id: key, tenant_id: tenant, flags, lead, cost_cents: kept } of rowsOf(
      after,
      "event",
    )
  ) {
    const { cost_cents: cost, project_area: area } = (lead ?? {}) as Row;
    const campaign = campaigns.get(key) ?? null;
    if (kind === "lead" && campaign !== null) add(`spend ${campaign}`, Number(kept ?? cost ?? 0));
    // Terms are counted with the search index.
    const isUnknown = (flags as string[]).includes("project_area_unknown") && after.has(`search_entry ${id}`);
    if (isUnknown && hasTerms) add(`term ${tenant} ${area}`, 1);
  }
  for (const [name, sum] of wanted) {
    const total = after.get(name)?.sum ?? 0;
    if (total !== sum) wrong.push(`${name} is ${total}, expected ${sum}`);
  }
  return wrong;
}

/** Returns the routes that apply to a source and form: for each kind, only the most specific ones. */
export function mostSpecific<T extends { readonly [name in "kind" | "source" | "form"]?: unknown }>(
  routes: readonly T[],
  { source, form }: { readonly source: unknown; readonly form: unknown },
): T[] {
  const specificity = (route: T) => route.form !== "" ? 2 : route.source !== "" ? 1 : 0;
  const matching = routes.filter((route) =>
    (route.source === "" || route.source === source) && (route.form === "" || route.form === form)
  );
  return matching.filter((route) =>
    matching.every((other) => other.kind !== route.kind || specificity(other) <= specificity(route))
  );
}

/** Returns an event's tenant, source and form; the form of a lead is empty. */
export function scopeOf(rows: Rows, id: string) {
  const { tenant_id: tenantId, key_id: key } = rowAt(rows, `event ${id}`);
  return {
    tenant: String(rowsOf(rows, "tenant").find((one) => one.id === tenantId)?.slug),
    source: String(rowAt(rows, `api_key ${key}`).label),
    form: String(rowAt(rows, `form ${rowAt(rows, `submission ${id}`).form_id}`).form_key ?? ""),
  };
}

/** Returns an event's routes, each with the key of the event's effect on it. */
export function effectsOf(rows: Rows, id: string): { readonly key: string; readonly route: Row }[] {
  const { tenant_id: tenant } = rowAt(rows, `event ${id}`);
  const routes = rowsOf(rows, "actions.route").filter((route) => route.tenant_id === tenant);
  return mostSpecific(routes, scopeOf(rows, id)).map((route) => ({
    key: `actions.effect ${id}/${route.id}`,
    route,
  }));
}

/** Whether an effect other than an email was done on a route that this route replaced. */
const isDoneOnReplacedRoute = (rows: Rows, id: string, { kind, id: route }: Row): boolean =>
  kind !== "email" &&
  rowsOf(rows, "actions.effect").some((one) =>
    one.event_id === id && one.effect === kind && one.is_done && one.route_id !== route
  );

/** Returns the mailbox or URL path in a route's address, in the format of {@linkcode Delivery.route}. */
export const pathOf = (address: unknown): string => String(address).replace(/^https:\/\/[^/]*\//, "");

/** The lease columns of an unclaimed effect. */
export const unclaimed = { lease: null, lease_until: null };

/** Returns the entry of an event or a collision in the search's index; `sender` has a submission's contact. */
function searchEntry({ lead, idempotency_key = null, request_id }: Row, sender?: Row): Row {
  const [lastName = "", fullName = ""] = String(sender?.name ?? "").split("\t");
  const { phone = null, email = null, external_id = null, last_name = lastName, ...rest } = sender ??
    lead as Row;
  const number = String(phone ?? "").replace(/ (?:x|ext )\d+$/, "");
  const fold = (name: unknown) => String(name).replace(/[A-Z]/g, (one) => one.toLowerCase()) || null;
  return {
    phone: /^\+1.{10}$/.test(String(phone))
      ? phone
      : number.replace(/[^0-9]/g, "").replace(/^00/, "").replace(/^1?([2-9]\d{9})$/, "+1$1") ||
        phone,
    email,
    last_name: fold(last_name),
    full_name: fold(sender === undefined ? `${rest.first_name} ${last_name}` : fullName),
    external_id,
    idempotency_key,
    request_id,
  };
}

/** Returns the changes that delivering every pending event causes, and the deliveries received. */
export function expectedDelivery(before: Rows, after: Rows, hasActions: boolean) {
  const changes: Changes = new Map();
  const deliveries: string[] = [];
  for (const event of rowsOf(before, "event")) {
    const key = `search_entry ${event.event_id}`;
    if (event.lead !== null && !before.has(key)) {
      changes.set(key, {
        ...searchEntry(event, before.get(`submission ${event.event_id}`)),
        ref: event.event_id,
      });
    }
  }
  for (const collision of rowsOf(before, "collision")) {
    const key = `search_entry collision ${collision.id}`;
    if (collision.lead !== null && !before.has(key)) {
      const entry = searchEntry(collision, collision.form_id === null ? undefined : collision);
      changes.set(key, { ...entry, ref: nonNull });
    }
  }
  for (const { event_id: id, made } of rowsOf(before, "outbox")) {
    const ended = { event_id: id, at: nonNull, status: nonNull, duration_ms: nonNull, spent: true };
    let number = Number(made) + 1;
    changes.set(`outbox ${id}`, null);
    if (!hasActions) deliveries.push(`${id} ${scopeOf(before, String(id)).tenant}`);
    let isBusy = false;
    for (const { key, route } of hasActions ? effectsOf(before, String(id)) : []) {
      const known = before.get(key);
      if (known?.is_done || isDoneOnReplacedRoute(before, String(id), route)) continue;
      isBusy ||= Boolean(known?.lease);
      deliveries.push(`${id} ${pathOf(route.address)}`);
      changes.set(key, {
        event_id: id,
        route_id: route.id,
        effect: route.kind,
        round: known?.round ?? 0,
        is_done: true,
        attempts: Number(known?.attempts ?? 0) + 1,
        settled_at: nonNull,
        reason: null,
        ...unclaimed,
        status: route.kind === "email" ? 250 : 200,
        answer: nonNull,
        headers: route.kind === "email" ? null : nonNull,
      });
    }
    // Failed attempts are accepted: another claim may hold an effect, and a busy machine may respond too late.
    for (; after.has(`attempt ${id}/${number + 1}`); number += 1) {
      const earlier = rowAt(after, `attempt ${id}/${number}`);
      if (earlier.outcome !== "unreachable" && !(isBusy && earlier.outcome === "refused")) break;
      changes.set(`attempt ${id}/${number}`, earlier);
      if (!hasActions) deliveries.push(`${id} ${scopeOf(before, String(id)).tenant}`);
    }
    changes.set(`attempt ${id}/${number}`, { ...ended, number, outcome: "delivered" });
  }
  return { changes, deliveries };
}

/** Returns the changes that removing the content of events and collisions causes. */
export function expectedRemoval(
  rows: Rows,
  reason: "erasure" | "retention",
  { matches, matchesCollision }: {
    readonly matches: (event: Row) => unknown;
    readonly matchesCollision: (collision: Row) => unknown;
  },
): Changes {
  const changes: Changes = new Map();
  const noContact = { phone: null, email: null, name: null };
  const noContent = { lead: null, extra: null, raw: null, request_id: null, content_digest: null };
  const events = rowsOf(rows, "event").filter((event) => event.removed_at === null && matches(event));
  for (const event of events) {
    const { event_id: id, kind, lead, dedupe_space: space, dedupe_digest: digest } = event;
    const cost = kind === "lead" ? (lead as Row).cost_cents ?? null : null;
    const hasKey = String(space).toLowerCase() === "k";
    changes.set(`event ${id}`, {
      ...noContent,
      idempotency_key: null,
      dedupe_digest: hasKey ? digest : null,
      cost_cents: cost,
      removed_at: nonNull,
      removed_by: reason,
    });
    const submission = rows.get(`submission ${id}`);
    if (submission !== undefined) {
      const isOpen = isHeld(submission) && submission.dismissed_at === null;
      changes.set(`submission ${id}`, {
        ...noContact,
        label: null,
        labelled_at: null,
        ...(isOpen ? { dismissed_at: nonNull } : {}),
      });
    }
    for (const key of [`search_entry ${id}`, `outbox ${id}`, `dead_letter ${id}`]) {
      if (rows.has(key)) changes.set(key, null);
    }
  }
  const ids = new Set(events.map(({ event_id: id }) => id));
  for (const { event_id: id, number } of rowsOf(rows, "attempt")) {
    if (ids.has(id)) changes.set(`attempt ${id}/${number}`, { reason: null });
  }
  for (const { event_id: id, route_id: route } of rowsOf(rows, "actions.effect")) {
    if (ids.has(id)) {
      changes.set(`actions.effect ${id}/${route}`, {
        reason: null,
        status: null,
        answer: null,
        headers: null,
      });
    }
  }
  for (const one of rowsOf(rows, "collision")) {
    const isRemoved = matchesCollision(one) || ids.has(one.accepted_event_id);
    if (isRemoved && one.content_digest !== null) {
      if (rows.has(`search_entry collision ${one.id}`)) changes.set(`search_entry collision ${one.id}`, null);
      changes.set(`collision ${one.id}`, {
        ...noContent,
        ...noContact,
        settled_at: one.settled_at ?? nonNull,
      });
    }
  }
  return changes;
}
