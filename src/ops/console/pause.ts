/** The section of a tenant's page that pauses and resumes its deliveries. */

import { type Markup, markup } from "../../http/markup.ts";
import { effectName } from "../../store/operator/event_effects.ts";
import {
  type Pause,
  pauseReasonLengthMax,
  pauseScopes,
  pauseTenant,
  resumeTenant,
} from "../../store/operator/pauses.ts";
import type { Context } from "./context.ts";
import { select, textField } from "./layout.ts";
import { actionForm, type NoteCode, readForm, withNote } from "./request.ts";
import { formatBoundedCount, formatCount, safeText, tenantLink, timeElement } from "./text.ts";
import { notFound } from "./wrong_id.ts";

const namedMax = 5;

/** Names a pause for a badge: `paused`, `email paused`. */
export const pauseName = ({ scope }: Pick<Pause, "scope">) =>
  scope === "all" ? "paused" : `${effectName(scope)} paused`;

/** Names what is paused, for pages whose figures it explains; `null` if nothing is. `tenant`: a slug, or `null` for all. */
export function pausedNote(pauses: readonly Pause[], tenant: string | null): Markup | null {
  const shown = pauses.filter((pause) => tenant === null || pause.tenant === tenant);
  if (shown.length === 0) return null;
  return markup`<p>Deliveries are paused: ${
    shown.slice(0, namedMax).map((pause, index) =>
      markup`${index > 0 && ", "}${tenantLink(pause.tenant)}${
        pause.scope !== "all" && ` (${effectName(pause.scope)})`
      }`
    )
  }${shown.length > namedMax && `, and ${formatCount(shown.length - namedMax)} more`}.</p>`;
}

/**
 * Renders a tenant's pauses, each with a button that ends it, and the form that pauses the tenant or one of the kinds of
 * destination that it has.
 */
export function pauseSection(
  { tokens, clock }: Context,
  { slug, pauses, kinds }: {
    readonly slug: string;
    readonly pauses: readonly Pause[];
    /** The kinds of the tenant's routes. */
    readonly kinds: readonly string[];
  },
): Markup {
  const free = pauseScopes.filter((scope) =>
    (scope === "all" || kinds.includes(scope)) && pauses.every((pause) => pause.scope !== scope)
  );
  return markup`<h2>Pause</h2>
${
    pauses.map(({ scope, since, reason, waiting }) =>
      markup`<div class="warn message"><p><strong>${
        scope === "all" ? "All deliveries are paused" : `${effectName(scope)} is paused`
      }</strong>${reason !== null && markup`: ${safeText(reason)}`}. Since ${timeElement(since, clock)}; ${
        formatBoundedCount(waiting)
      } ${waiting.count === 1 ? "event waits" : "events wait"}.</p>${
        actionForm(
          { tokens, path: `/tenants/${slug}/resume`, hidden: { scope } },
          markup`<button>Resume and send</button>`,
        )
      }</div>
`
    )
  }<p class="quiet">While deliveries are paused, posts are accepted as usual. Their events wait, spend no attempts, and are sent
when you resume.</p>
${
    free.length > 0 && actionForm(
      { tokens, path: `/tenants/${slug}/pause`, className: "filters" },
      markup`${
        select(
          "scope",
          free.map((scope) => [scope, scope === "all" ? "all deliveries" : effectName(scope)]),
          { label: "Pause", selected: null },
        )
      }${
        textField("reason", { label: "Reason, for other operators", lengthMax: pauseReasonLengthMax })
      }<div><button>Pause</button></div>`,
    )
  }`;
}

/** `POST /tenants/{slug}/pause`. */
export function pauseAction(context: Context): Promise<string> {
  return change(context, "pause");
}

/** `POST /tenants/{slug}/resume`. */
export function resumeAction(context: Context): Promise<string> {
  return change(context, "resume");
}

const notes = {
  pause: { done: "paused", unchanged: "already_paused" },
  resume: { done: "resumed", unchanged: "not_paused" },
} as const satisfies Record<string, Record<"done" | "unchanged", NoteCode>>;

async function change(
  { parts, tokens, exchange, operator }: Context,
  action: keyof typeof notes,
): Promise<string> {
  const tenant = exchange.params["slug"] ?? "";
  const form = await readForm(exchange, {
    tokens,
    path: `/tenants/${tenant}/${action}`,
    names: ["scope", "reason"],
  });
  const reason = form.line("reason", pauseReasonLengthMax);
  const request = {
    tenant,
    scopes: [form.oneOf("scope", pauseScopes) ?? "all"],
    operator,
  };
  const [changed] = action === "pause"
    ? await pauseTenant(parts.pool, { ...request, reason })
    : await resumeTenant(parts.pool, request);
  if (changed === undefined) throw notFound("tenant", tenant);
  const code = notes[action][changed.isUnchanged ? "unchanged" : "done"];
  return withNote(`/tenants/${tenant}`, { tokens, code });
}
