/**
 * The guard of everything that changes something: consecutive checks, and a redirect to a page that says what was done.
 *
 * @module
 */

import type { Exchange, Reply } from "../../http/exchange.ts";
import { isSameOrigin } from "../../http/same_origin.ts";
import { type Markup, markup } from "../../http/markup.ts";
import { pageHeaders, RefusedPage } from "./layout.ts";
import { parseQuery, type Query } from "./query.ts";
import type { Tokens } from "./token.ts";

// Two hundred ids, or one term in escapes.
const bodyBytesMax = 64 * 1024;

/** Where a form posts to. */
type ActionPath =
  | "/dead/replay"
  | "/dead/replay-all"
  | "/leads/send-again"
  | "/held/judge"
  | "/collisions/settle"
  | "/vocabulary/add";

/** The hidden field by which the console knows its own form. */
export function tokenField(tokens: Tokens, path: ActionPath): Markup {
  return markup`<input type="hidden" name="token" value="${tokens.issue(path)}">`;
}

/**
 * Reads a form that was posted to a path. Nothing has happened when it refuses.
 *
 * @throws {RefusedPage} when it is not ours: 400, 403, 413 or 415
 */
export async function readForm(
  exchange: Exchange,
  { tokens, path, names }: {
    readonly tokens: Tokens;
    readonly path: ActionPath;
    /** The form's fields besides its token. */
    readonly names: readonly string[];
  },
): Promise<Query> {
  if (!isSameOrigin(exchange)) {
    throw new RefusedPage(
      403,
      "The form was sent from another place",
      markup`<p>Nothing was changed. Open the page on this address and use its own button.</p>`,
    );
  }
  const type = exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    throw new RefusedPage(415, "This is no form", markup`<p>Nothing was changed.</p>`);
  }
  const body = await exchange.readBody(bodyBytesMax);
  if (body.kind !== "complete") {
    throw new RefusedPage(
      body.kind === "too_large" ? 413 : 400,
      body.kind === "too_large" ? "The form is too large" : "The form did not arrive whole",
      markup`<p>Nothing was changed. Choose fewer at once.</p>`,
    );
  }
  const form = parseQuery(new TextDecoder().decode(body.bytes), ["token", ...names]);
  const state = tokens.check(path, form.text("token") ?? "");
  if (state !== "good") {
    throw new RefusedPage(
      403,
      state === "expired" ? "The form is too old" : "The form is not from this process",
      markup`<p>Nothing was changed. Go back, load the page again and press the button once more: a form is good for
        eight hours, at the process that made it.</p>`,
    );
  }
  return form;
}

/** Leads to a page, by GET. `location` has nothing in it that a caller chose freely. */
export function seeOther(location: string): Reply {
  return { status: 303, headers: { ...pageHeaders, Location: location }, body: "" };
}
