/**
 * What a page of the console reads of its request: the query, a form with its token, the tenant that it names; and the
 * note that an action leaves for the next page.
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Exchange, Reply } from "../../http/exchange.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { isSameOrigin } from "../../http/same_origin.ts";
import type { TimeZone } from "../../http/time_zone.ts";
import { Parameters } from "../parameters.ts";
import { pageHeaders, RefusedPage, select } from "./layout.ts";
import { counted } from "./text.ts";
import { findTenant, listTenants } from "../../store/operator/tenants.ts";
import type { Pool } from "../../store/pool.ts";

/** The shape of an event's or a submission's id. */
export const idShape = /^[0-9a-z]{8,64}$/;
/** The shape of a tenant's slug. */
const slugShape = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;
/** The shape of a row's number. */
export const numberShape = /^[1-9]\d{0,17}$/;

/**
 * Reads `application/x-www-form-urlencoded` text in which only the names in `allowed` may stand.
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

/** The part of an address behind its path, from the values that are not `null`. */
export function queryOf(values: Readonly<Record<string, string | null>>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== null);
  if (pairs.length === 0) return "";
  return `?${new URLSearchParams(pairs as [string, string][]).toString()}`;
}

/** What becomes of a token that is shown. */
type TokenState = "good" | "expired" | "wrong";

// A shift: a page that was open all night may still act, one from last week may not.
const tokenMs = 8 * 3_600_000;
// A reload later than this does not say again what was done.
const noteMs = 60_000;

/** Makes and checks both. Time and secret are passed in. */
export class Tokens {
  readonly #secret: Uint8Array;
  readonly #nowMs: () => number;

  /** `secret` has at least 32 random bytes, `nowMs` is a wall clock. */
  constructor(secret: Uint8Array, nowMs: () => number) {
    if (secret.byteLength < 32) throw new RangeError("The secret is too short");
    this.#secret = secret;
    this.#nowMs = nowMs;
  }

  /** A token for forms that post to a path. */
  issue(path: string): string {
    return this.#sealed(`token ${path}`, this.#nowMs() + tokenMs);
  }

  /** Checks a token that came with a post to a path. */
  check(path: string, token: string): TokenState {
    return this.#stateOf(`token ${path}`, token);
  }

  /** The note that something was done to so many. */
  note(code: string, count: number): string {
    const text = `${code}.${count}`;
    return `${text}.${this.#sealed(`note ${text}`, this.#nowMs() + noteMs)}`;
  }

  /** Reads a note; `null` when it is not ours or is old. */
  readNote(note: string): { readonly code: string; readonly count: number } | null {
    const [code = "", number = "", ...seal] = note.split(".");
    if (this.#stateOf(`note ${code}.${number}`, seal.join(".")) !== "good") return null;
    return { code, count: Number(number) };
  }

  #sealed(text: string, untilMs: number): string {
    const until = Math.ceil(untilMs).toString(36);
    return `${until}.${this.#seal(text, until)}`;
  }

  #stateOf(text: string, sealed: string): TokenState {
    const [until = "", seal = ""] = sealed.split(".");
    const expected = Buffer.from(this.#seal(text, until));
    const given = Buffer.from(seal);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return "wrong";
    return Number.parseInt(until, 36) < this.#nowMs() ? "expired" : "good";
  }

  #seal(text: string, until: string): string {
    return createHmac("sha256", this.#secret).update(`${text}\n${until}`).digest("base64url");
  }
}

// Two hundred ids, or one term in escapes.
const bodyBytesMax = 64 * 1024;

/** Where a form posts to. */
type ActionPath =
  | "/dead/replay"
  | "/dead/replay-all"
  | "/leads/send-again"
  | "/leads/mark-spam"
  | "/held/review"
  | "/collisions/settle"
  | "/vocabulary/add";

/** A form that posts to a path, with the hidden field by which the console knows its own, and others. */
export function actionForm(
  { tokens, path, className, hidden = {} }: {
    readonly tokens: Tokens;
    readonly path: ActionPath;
    readonly className?: "row";
    /** By name; `null` is left out. */
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
 * Reads a form that was posted to a path. Nothing has happened when it refuses.
 *
 * @throws {RefusedPage} when it is not ours: 400, 403, 413 or 415; {InvalidParameter}
 */
export async function readForm(
  exchange: Exchange,
  { tokens, path, names }: {
    readonly tokens: Tokens;
    readonly path: ActionPath;
    /** The form's fields besides its token. */
    readonly names: readonly string[];
  },
): Promise<Parameters> {
  if (!isSameOrigin(exchange)) {
    throw new RefusedPage(
      403,
      "The form was sent from another site",
      markup`<p>Nothing was changed. Open the page here and use its button.</p>`,
    );
  }
  const type = exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    throw new RefusedPage(415, "This is not a form", markup`<p>Nothing was changed.</p>`);
  }
  const body = await exchange.readBody(bodyBytesMax);
  if (body.kind !== "complete") {
    throw new RefusedPage(
      body.kind === "too_large" ? 413 : 400,
      body.kind === "too_large" ? "The form is too large" : "The form did not arrive completely",
      markup`<p>Nothing was changed. Select fewer.</p>`,
    );
  }
  const form = parseQuery(new TextDecoder().decode(body.bytes), ["token", ...names]);
  const state = tokens.check(path, form.text("token") ?? "");
  if (state !== "good") {
    throw new RefusedPage(
      403,
      state === "expired" ? "The form is too old" : "The form is not from this process",
      markup`<p>Nothing was changed. Go back, reload the page and press the button again: a form is valid for eight hours,
        and only in the process that created it.</p>`,
    );
  }
  return form;
}

/** Leads to a page, by GET. `location` has nothing in it that a caller chose freely. */
export function seeOther(location: string): Reply {
  return { status: 303, headers: { ...pageHeaders, Location: location }, body: "" };
}

/** What was done, by its code. */
const done = {
  replayed: (n: number) => `${counted(n, "dead letter")} returned to pending; delivery starts immediately.`,
  released: (n: number) => `${counted(n, "submission")} released; delivery starts immediately.`,
  dismissed: (n: number) => `${counted(n, "submission")} dismissed: still held, but no longer on this list.`,
  spam_marked: () => "Noted. The spam score learns from it within seconds.",
  sent_again: () => "It is being sent again. Effects that you did not select are not repeated.",
  collision_accepted: () => "Accepted as a separate lead; delivery starts immediately.",
  collision_dismissed: () => "Dismissed. It was not delivered and needs no further action.",
  confirmed: () => "The term is confirmed. Running processes use it within seconds.",
  proposed: () => "The term is proposed. Running processes use it within seconds.",
} as const;

/** Why nothing was changed. */
const undone = {
  none_dead: "none of them is a dead letter any more.",
  none_chosen: "nothing was selected.",
  again_waiting: "it is already being sent, or has not been delivered yet.",
  again_already: "it has been sent again since you loaded that page. This page shows the result.",
  again_dead: "it is a dead letter. Replay it instead.",
  again_held: "it is held. Release it instead.",
  again_erased: "its content is gone.",
  again_sandbox: "a sandbox lead is never delivered.",
  again_no_route: "the tenant no longer has a route for it.",
  collision_settled: "it has already been settled, as shown here.",
  collision_busy:
    "an erasure that may include this person is running, or the key is being revoked. Try again in a minute.",
  none_held: "none of them is held any more.",
  area_unchanged: "the vocabulary already has the term.",
  area_changed_meanwhile: "another operator has changed the term in the meantime. Check it again.",
  area_not_found: "no lead has that term.",
} as const;

/** What can be said. */
export type NoteCode = keyof typeof done | keyof typeof undone | "replayed_part";

/** The address of a page, with the note of what was done to so many. */
export function withNote(
  path: string,
  { tokens, code, count = 1, query = {} }: {
    readonly tokens: Tokens;
    readonly code: NoteCode;
    readonly count?: number | undefined;
    readonly query?: Readonly<Record<string, string | null>>;
  },
): string {
  return `${path}${queryOf({ ...query, done: tokens.note(code, count) })}`;
}

/** The sentence of a note. */
export function noteText({ code, count }: { readonly code: string; readonly count: number }): Markup | null {
  const isDone = Object.hasOwn(done, code);
  const text = isDone
    ? done[code as keyof typeof done](count)
    : code === "replayed_part"
    ? `${counted(count, "dead letter")} returned to pending. There are more: press the button again.`
    : Object.hasOwn(undone, code)
    ? `Nothing was changed: ${undone[code as keyof typeof undone]}`
    : null;
  return text === null
    ? null
    : markup`<p class="${isDone ? "good" : "warn"} message" role="status">${text}</p>`;
}

/**
 * Where an action leads that was asked for from a list, or with `page=lead` from the page of the one event that it is for;
 * `done` is the note, `kept` the fields that go on to narrow the list beside `tenant`.
 */
export async function backFrom(
  pool: Pool,
  form: Parameters,
  { list, only, tokens, kept = {} }: {
    readonly list: string;
    readonly only: string | null;
    readonly tokens: Tokens;
    readonly kept?: Readonly<Record<string, string | null>>;
  },
): Promise<(code: NoteCode, count?: number) => string> {
  const { slug } = await chosenTenant(pool, form);
  const isLead = form.word("page", ["lead"]) !== null && only !== null;
  const query = isLead ? {} : { tenant: slug, ...kept };
  return (code, count) => withNote(isLead ? `/leads/${only}` : list, { tokens, code, count, query });
}

/** A chosen tenant; both are `null` when all are meant. */
interface ChosenTenant {
  readonly slug: string | null;
  readonly id: number | null;
}

/**
 * The tenant that a form names.
 *
 * @throws {RefusedPage} of status 404 when there is none of that name
 */
export async function chosenTenant(pool: Pool, query: Parameters): Promise<ChosenTenant> {
  const slug = query.shaped("tenant", slugShape);
  if (slug === null) return { slug: null, id: null };
  const tenant = await findTenant(pool, slug);
  if (tenant === null) {
    throw new RefusedPage(
      404,
      "No such tenant",
      markup`<p>Choose one from the page's list.</p>`,
    );
  }
  return { slug, id: tenant.id };
}

// A list longer than this is for a page's address or for ctl.
const optionsMax = 1_000;

/** A choice of tenants. */
export async function tenantSelect(pool: Pool, chosen: string | null): Promise<Markup> {
  const tenants = (await listTenants(pool)).slice(0, optionsMax);
  const options = tenants.map(({ slug }) => [slug, slug] as const);
  return select("tenant", [["", "all tenants"], ...options], { label: "Tenant", chosen });
}

/** The form that narrows a page to a tenant. */
export async function tenantFilter(pool: Pool, path: string, chosen: string | null): Promise<Markup> {
  return markup`<form class="filters" method="get" action="${path}">
${await tenantSelect(pool, chosen)}<div><button>Show</button></div></form>`;
}
