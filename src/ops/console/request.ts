/** Reads a page's query, form and tenant, checks form tokens, and passes the note about an action to the next page. */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Exchange, Reply } from "../../http/exchange.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { isSameOrigin } from "../../http/target.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { InvalidParameter, Parameters } from "../parameters.ts";
import { filterForm, pageHeaders, RefusedPage, select } from "./layout.ts";
import { isPlain, pluralize } from "./text.ts";
import { findTenant, type FoundTenant, listTenants } from "../../store/operator/tenants.ts";
import type { Pool } from "../../store/pool.ts";

/** Matches the id of an event or submission. */
export const idPattern = /^[0-9a-z]{8,64}$/;
/** Matches a tenant's slug. */
export const slugPattern = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;
/** Matches the id of a numbered row. */
export const rowIdPattern = /^[1-9]\d{0,17}$/;

/**
 * Parses `application/x-www-form-urlencoded` text that may contain only the names in `allowed`.
 *
 * @throws {InvalidParameter}
 */
export function parseQuery(
  text: string,
  allowed: readonly string[],
  clock: { readonly zone?: TimeZone; readonly nowMs?: number } = {},
): Parameters {
  return new Parameters(text, allowed, { ...clock, isForm: true });
}

/** Builds a query string, with its `?`, from the values that are not `null`; empty if there are none. */
export function queryString(values: Readonly<Record<string, string | null>>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== null);
  if (pairs.length === 0) return "";
  return `?${new URLSearchParams(pairs as [string, string][]).toString()}`;
}

type TokenStatus = "valid" | "expired" | "invalid";

// Chosen: one shift; a page that has been open for longer must be reloaded.
const tokenMs = 8 * 3_600_000;
// After this time, reloading the page no longer shows the note.
const noteMs = 60_000;

/** Issues and checks form tokens and signed notes. */
export class Tokens {
  readonly #secret: Uint8Array;
  readonly #nowMs: () => number;

  /** `secret` must have at least 32 random bytes; `nowMs` returns the wall-clock time. */
  constructor(secret: Uint8Array, nowMs: () => number) {
    if (secret.byteLength < 32) throw new RangeError("The secret is too short");
    this.#secret = secret;
    this.#nowMs = nowMs;
  }

  /** Issues a token for forms that post to a path. */
  issue(path: string): string {
    return this.#sign(`token ${path}`, this.#nowMs() + tokenMs);
  }

  /** Checks the token of a form posted to a path. */
  check(path: string, token: string): TokenStatus {
    return this.#checkSigned(`token ${path}`, token);
  }

  /** Issues a note about an action on `count` items. */
  note(code: string, count: number): string {
    const text = `${code}.${count}`;
    return `${text}.${this.#sign(`note ${text}`, this.#nowMs() + noteMs)}`;
  }

  /** Reads a note; `null` if it is forged or expired. */
  readNote(note: string): { readonly code: string; readonly count: number } | null {
    const [code = "", number = "", ...signature] = note.split(".");
    if (this.#checkSigned(`note ${code}.${number}`, signature.join(".")) !== "valid") return null;
    return { code, count: Number(number) };
  }

  #sign(text: string, untilMs: number): string {
    const until = Math.ceil(untilMs).toString(36);
    return `${until}.${this.#signature(text, until)}`;
  }

  #checkSigned(text: string, signed: string): TokenStatus {
    const [until = "", signature = ""] = signed.split(".");
    const expected = Buffer.from(this.#signature(text, until));
    const received = Buffer.from(signature);
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) return "invalid";
    return Number.parseInt(until, 36) < this.#nowMs() ? "expired" : "valid";
  }

  #signature(text: string, until: string): string {
    return createHmac("sha256", this.#secret).update(`${text}\n${until}`).digest("base64url");
  }
}

// Enough for 200 ids or one percent-encoded term.
const bodyBytesMax = 64 * 1024;

/** The paths to which forms post. */
type ActionPath =
  | "/dead/replay"
  | "/dead/replay-all"
  | "/leads/send-again"
  | "/leads/mark-spam"
  | "/leads/return"
  | "/held/review"
  | "/collisions/settle"
  | "/vocabulary/add"
  | `/tenants/${string}/${"dry-run" | "pause" | "resume"}`;

/** Renders a form that posts to a path, with its token and other hidden fields. */
export function actionForm(
  { tokens, path, className, hidden = {} }: {
    readonly tokens: Tokens;
    readonly path: ActionPath;
    readonly className?: "row" | "filters";
    /** The hidden fields by name; `null` omits one. */
    readonly hidden?: Readonly<Record<string, string | number | null>>;
  },
  body: Markup,
): Markup {
  const fields = Object.entries({ token: tokens.issue(path), ...hidden });
  return markup`<form method="post" action="${path}"${
    className !== undefined && markup` class="${className}"`
  }>${
    fields.map(([name, value]) =>
      value !== null && markup`<input type="hidden" name="${name}" value="${value}">`
    )
  }
${body}</form>`;
}

/**
 * Reads a form that was posted to a path, and checks its token.
 *
 * @throws {RefusedPage} with status 400, 403, 413 or 415
 * @throws {InvalidParameter}
 */
export async function readForm(
  exchange: Exchange,
  { tokens, path, names }: {
    readonly tokens: Tokens;
    readonly path: ActionPath;
    /** The form's fields, apart from the token. */
    readonly names: readonly string[];
  },
): Promise<Parameters> {
  if (!isSameOrigin(exchange)) {
    throw new RefusedPage(
      403,
      "The form was sent from another site",
      markup`<p>Nothing was changed. Open the page in this console and use its button.</p>`,
    );
  }
  const type = exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    throw new RefusedPage(415, "Not a form", markup`<p>Nothing was changed.</p>`);
  }
  const body = await exchange.readBody(bodyBytesMax);
  if (body.kind !== "complete") {
    throw new RefusedPage(
      body.kind === "too_large" ? 413 : 400,
      body.kind === "too_large" ? "The form is too large" : "The form is incomplete",
      body.kind === "too_large"
        ? markup`<p>Nothing was changed. Select fewer rows.</p>`
        : markup`<p>Nothing was changed. Try again.</p>`,
    );
  }
  const form = parseQuery(new TextDecoder().decode(body.bytes), ["token", ...names]);
  const status = tokens.check(path, form.text("token") ?? "");
  if (status !== "valid") {
    throw new RefusedPage(
      403,
      status === "expired" ? "The form has expired" : "The form is not from this process",
      markup`<p>Nothing was changed. Go back, reload the page and press the button again. A form is valid for eight hours,
        and only in the process that created it.</p>`,
    );
  }
  return form;
}

/** Redirects to a page. `location` must not contain text from callers. */
export function seeOther(location: string): Reply {
  return { status: 303, headers: { ...pageHeaders, Location: location }, body: "" };
}

const startsText = "starts immediately, unless it is paused";

/** The messages about successful actions. */
const successNotes = {
  replayed: (n: number) => `${pluralize(n, "dead letter")} returned to pending; delivery ${startsText}.`,
  released: (n: number) => `${pluralize(n, "submission")} released; delivery ${startsText}.`,
  paused: () => "Paused. Posts are accepted, and what is paused waits until you resume.",
  resumed: () => "Resumed. What waited is sent immediately, unless it is paused below.",
  dismissed: (n: number) =>
    `${pluralize(n, "submission")} dismissed: still held, but no longer on this list.`,
  spam_marked: () => "Saved. The spam score learns from it within seconds.",
  sent_again: () => "It is being sent again. Effects that you did not select are not repeated.",
  lead_returned: () => "Returned. Its cost is credited; the sender is not notified.",
  return_undone: () => "No longer returned. The credit was taken back.",
  collision_accepted: () => "Accepted as a separate lead; delivery starts immediately.",
  collision_dismissed: () => "Dismissed. It was not delivered and needs no further action.",
  confirmed: () => "The term is confirmed. Running processes use it within seconds.",
  proposed: () => "The term is proposed. Running processes use it within seconds.",
} as const;

/** The reasons why an action changed nothing. */
const noChangeNotes = {
  none_dead: "none of them is still a dead letter.",
  none_chosen: "nothing was selected.",
  again_waiting: "it is already being sent, or has not been delivered yet.",
  again_already: "it has been sent again since you loaded that page. This page shows the result.",
  again_dead: "it is a dead letter. Replay it instead.",
  again_held: "it is held. Release it instead.",
  again_erased: "its content has been removed.",
  again_sandbox: "a sandbox lead is never delivered.",
  again_no_route: "the tenant no longer has a route for it.",
  return_already: "it is already returned.",
  return_not_returned: "it is not returned.",
  return_form: "a form submission costs nothing. Report it as spam instead.",
  return_erased: "its content has been removed, so no note can be stored. Return it without a note.",
  collision_settled: "it has already been settled, as shown here.",
  collision_busy:
    "an erasure that may include this person is running, or the key is being revoked. Try again in a minute.",
  already_paused: "it was paused before, for the same reason.",
  not_paused: "it is not paused; another operator may have resumed it.",
  none_held: "none of them is still held.",
  area_unchanged: "the vocabulary already has the term.",
  area_changed_meanwhile: "another operator has changed the term in the meantime. Check it again.",
  area_not_found: "no lead has that term.",
} as const;

export type NoteCode = keyof typeof successNotes | keyof typeof noChangeNotes | "replayed_part";

/** Returns the URL of a page with a note about an action on `count` items. */
export function withNote(
  path: string,
  { tokens, code, count = 1, query = {} }: {
    readonly tokens: Tokens;
    readonly code: NoteCode;
    readonly count?: number | undefined;
    readonly query?: Readonly<Record<string, string | null>>;
  },
): string {
  return `${path}${queryString({ ...query, done: tokens.note(code, count) })}`;
}

/** Renders a note; `null` for an unknown code. */
export function noteText({ code, count }: { readonly code: string; readonly count: number }): Markup | null {
  const isDone = Object.hasOwn(successNotes, code);
  const text = isDone
    ? successNotes[code as keyof typeof successNotes](count)
    : code === "replayed_part"
    ? `${pluralize(count, "dead letter")} returned to pending. There are more: press the button again.`
    : Object.hasOwn(noChangeNotes, code)
    ? `Nothing was changed: ${noChangeNotes[code as keyof typeof noChangeNotes]}`
    : null;
  return text === null
    ? null
    : markup`<p class="${isDone ? "good" : "warn"} message" role="status">${text}</p>`;
}

/**
 * Returns a function that builds the URL of the page to show after an action: the list that posted the form or, with
 * `page=lead`, the event's page. `filter` contains the list's filters apart from `tenant`.
 */
export async function backFrom(
  pool: Pool,
  form: Parameters,
  { list, only, tokens, filter = {} }: {
    readonly list: string;
    readonly only: string | null;
    readonly tokens: Tokens;
    readonly filter?: Readonly<Record<string, string | null>>;
  },
): Promise<(code: NoteCode, count?: number) => string> {
  const { slug } = await selectedTenant(pool, form);
  const isLead = form.oneOf("page", ["lead"]) !== null && only !== null;
  const query = isLead ? {} : { tenant: slug, ...filter };
  return (code, count) => withNote(isLead ? `/leads/${only}` : list, { tokens, code, count, query });
}

/** The selected tenant; all members are `null` for all tenants. */
type SelectedTenant = FoundTenant | { readonly slug: null; readonly id: null; readonly timeZone: null };

/**
 * Returns the tenant that a form or query names.
 *
 * @throws {RefusedPage} with status 404 if there is no such tenant
 */
export async function selectedTenant(pool: Pool, query: Parameters): Promise<SelectedTenant> {
  const slug = query.matching("tenant", slugPattern);
  if (slug === null) return { slug: null, id: null, timeZone: null };
  const tenant = await findTenant(pool, slug);
  if (tenant === null) {
    throw new InvalidParameter("tenant", "There is no such tenant", slug);
  }
  return tenant;
}

// To select any other tenant, edit the page's URL or use ctl.
const tenantsListedMax = 1_000;

/** Renders a `<select>` of tenants. */
export async function tenantSelect(
  pool: Pool,
  selected: string | null,
  noneText = "all tenants",
): Promise<Markup> {
  const tenants = (await listTenants(pool)).slice(0, tenantsListedMax);
  const options = tenants.map(({ slug }) => [slug, slug] as const);
  return select("tenant", [["", noneText], ...options], { label: "Tenant", selected });
}

/** Renders a `<select>` of sources' labels. Chosen: without labels that an option, which is plain text, cannot show. */
export function sourceSelect(labels: Iterable<string>, selected: string | null): Markup {
  const listed = new Set(selected === null ? labels : [...labels, selected]);
  const options = [...listed].filter(isPlain).map((label) => [label, label] as const);
  return select("source", [["", "all sources"], ...options], { label: "Source", selected });
}

/** Renders the form that filters a page by tenant. */
export async function tenantFilter(pool: Pool, path: string, selected: string | null): Promise<Markup> {
  return filterForm(path, await tenantSelect(pool, selected));
}
