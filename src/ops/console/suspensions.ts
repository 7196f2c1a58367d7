/** Describes suspended CRM routes, with the CRM's response and the command that helps. */

import { type Markup, markup } from "../../http/markup.ts";
import {
  routeCommand,
  type RouteState,
  secretsCommand,
  type SuspendedRoute,
  type SuspensionReason,
  suspensionTexts,
} from "../../store/operator/route_states.ts";
import { formatBoundedCount, relativeTime, safeText, truncated } from "./text.ts";

/** Names the source or the form whose events a route receives; `null` for all events. */
export function scopeText({ source, form }: Pick<RouteState, "source" | "form">): Markup | null {
  if (form !== "") return markup`form ${safeText(form)}`;
  return source === "" ? null : markup`source ${safeText(source)}`;
}

/** The state of a suspended CRM route, for a badge. */
export const suspensionNames: Readonly<Record<SuspensionReason, string>> = {
  crm_unauthorized: "credentials refused",
  crm_suspended: "suspended",
};

/** Says why and since when a route is suspended, and quotes the CRM. `ofTenant`: the link to the tenant, if it must be named. */
export function suspensionText(
  route: SuspendedRoute,
  { nowMs, quoteMax, ofTenant = null }: {
    readonly nowMs: number;
    /** The maximum length of the quotation, in characters. */
    readonly quoteMax: number;
    readonly ofTenant?: Markup | null;
  },
): Markup {
  const { target, last, suspension: { reason, since, waiting } } = route;
  const scope = scopeText(route);
  return markup`<strong>The CRM${ofTenant !== null && markup` of ${ofTenant}`} ${
    suspensionTexts[reason]
  }</strong>
(${safeText(target)}${scope !== null && markup`, ${scope}`}). ${
    reason === "crm_unauthorized" ? "First refused" : "Suspended"
  } ${relativeTime(since, nowMs)}; ${formatBoundedCount(waiting)} ${
    waiting.count === 1 ? "lead waits" : "leads wait"
  }.${
    last !== null &&
    markup` Its response to <a href="/leads/${last.eventId}">the last try</a>:${
      last.status !== null && markup` <strong>${last.status}</strong>`
    }${
      last.answer === null || last.answer === ""
        ? last.status === null && " none"
        : markup` <code>${truncated(last.answer, quoteMax)}</code>`
    }.`
  }`;
}

/** Says what to do about a suspended route. */
export function suspensionFix(route: SuspendedRoute): Markup {
  const waits =
    markup`Waiting leads spend no attempts. One lead a minute is tried; all are sent when one succeeds`;
  return route.suspension.reason === "crm_unauthorized"
    ? markup`${waits} or when you replace the secrets:<br><code>${safeText(secretsCommand(route))}</code>`
    : markup`${waits} or when you change the route. Correct the cause in the CRM, or change the recipe's settings:<br><code>${
      safeText(routeCommand(route))
    } --set NAME=VALUE</code><br>Then replay the leads that it refused: <a href="/dead?tenant=${route.tenant}">dead letters</a>.`;
}
