/** Shows what is sent of an event, or would be sent of a tenant's last one, with secrets masked. */

import { type Markup, markup } from "../../http/markup.ts";
import { indentJson } from "../../lead/json.ts";
import { type DeliveredText, effectName, readDelivered } from "../../store/operator/event_effects.ts";
import { findLastEvent } from "../../store/operator/route_states.ts";
import { findTenant } from "../../store/operator/tenants.ts";
import type { ConsoleParts, Context } from "./context.ts";
import { type ConsolePage, RefusedPage } from "./layout.ts";
import { failureText } from "./problems.ts";
import { actionForm, idPattern, parseQuery, readForm } from "./request.ts";
import { eventLink, safeText, tenantLink } from "./text.ts";
import { notFound } from "./wrong_id.ts";

const pathOf = (tenant: string) => `/tenants/${tenant}/dry-run` as const;

/** Renders the section with the button; without an event, the dry run uses a made-up one. */
export function dryRunForm(
  { parts, tokens }: Context,
  { tenant, lastEventId }: { readonly tenant: string; readonly lastEventId: string | null },
): Markup {
  const label = `Dry run of ${lastEventId === null ? "a made-up lead" : "the last lead"}`;
  return markup`<h2>Dry run</h2>
${
    parts.dryRun === null
      ? markup`<p><button disabled>${label}</button> <code>ACTIONS_URL</code> is not set for this process, so it cannot ask the
actions process.</p>`
      : markup`<p>Shows the requests as they would go out, with secrets as <code>***</code>. Nothing is sent.</p>
${actionForm({ tokens, path: pathOf(tenant), className: "row" }, markup`<button>${label}</button>`)}`
  }`;
}

/** `POST /tenants/{slug}/dry-run`: of the tenant's last event, or of a made-up one. */
export async function dryRunAction({ parts, tokens, exchange }: Context): Promise<ConsolePage> {
  const { pool, dryRun } = parts;
  const slug = exchange.params.slug ?? "";
  await readForm(exchange, { tokens, path: pathOf(slug), names: [] });
  const tenant = await findTenant(pool, slug);
  if (tenant === null || dryRun === null) {
    throw new RefusedPage(404, "No such tenant", markup`<p>Nothing was sent.</p>`);
  }
  const eventId = await findLastEvent(pool, tenant.id);
  const event = eventId === null ? null : await readDelivered(pool, eventId);
  if (event === "erased") throw removedPage;
  return {
    title: `Dry run for ${slug}`,
    body: markup`<h1>Dry run for ${tenantLink(slug)}</h1>
<p>The requests for ${
      eventId === null ? "a made-up lead" : eventLink(eventId, "whole")
    } as they would go out. Nothing was sent.</p>
${await requestList(dryRun, { tenant: slug, eventId, event })}`,
  };
}

const removedPage = new RefusedPage(
  404,
  "Its content was removed",
  markup`<p>There is nothing left to send.</p>`,
);

/** `/leads/{event_id}/sent`: what each recipient of an event is sent, rendered again by the actions process. */
export async function sentPage({ parts, exchange, query }: Context): Promise<ConsolePage> {
  parseQuery(query, []);
  const eventId = exchange.params.event_id ?? "";
  const event = idPattern.test(eventId) ? await readDelivered(parts.pool, eventId) : null;
  if (event === null) {
    throw notFound("event", eventId);
  }
  if (event === "erased") throw removedPage;
  return {
    title: `What is sent for ${eventId}`,
    body: markup`<h1>What is sent for <a class="id" href="/leads/${eventId}">${eventId}</a></h1>
<p>Rendered again from the stored content, for the current routes of ${
      tenantLink(event.tenant)
    }, with secrets as <code>***</code>. Nothing was sent.</p>
${
      parts.dryRun === null
        ? markup`<p class="bad message"><code>ACTIONS_URL</code> is not set for this process, so it cannot ask the actions process.</p>`
        : await requestList(parts.dryRun, { tenant: event.tenant, eventId, event })
    }`,
  };
}

/** A request as it would be sent. */
interface PreviewedRequest {
  /** The kind of the recipient's destination. */
  readonly effect: string;
  readonly step: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The values that only the receiver's responses have, and that were made up. */
  readonly made_up: readonly string[];
}

async function requestList(
  dryRun: NonNullable<ConsoleParts["dryRun"]>,
  { tenant, eventId, event }: {
    readonly tenant: string;
    readonly eventId: string | null;
    readonly event: DeliveredText | null;
  },
): Promise<Markup> {
  const { source = "", form = "", text } = event ?? {};
  const reply = await dryRun({
    tenant,
    source,
    form,
    dry_run: true,
    ...(text === undefined ? {} : { event_id: eventId, event: text }),
  });
  const bad = (problem: Markup) => markup`<p class="bad message">${problem}</p>`;
  if ("cause" in reply) return bad(markup`The actions process does not respond: ${failureText(reply)}.`);
  const parsed = parseReply(reply.text);
  if (reply.status !== 200) {
    return parsed?.error === "no_route"
      ? bad(markup`No route receives it.`)
      : parsed?.error === "sandbox"
      ? bad(markup`A sandbox tenant's leads are sent to nobody.`)
      : bad(markup`The actions process responded with ${reply.status} ${safeText(parsed?.error ?? "")}`);
  }
  if (parsed === null) {
    const command = `ctl tenant route ${tenant} --test --dry-run${
      eventId === null ? "" : ` --event ${eventId}`
    }`;
    return bad(markup`The requests are too long for this page. Run <code>${command}</code>.`);
  }
  const { requests = [], faults = [] } = parsed;
  return markup`${requests.map(requestSection)}${
    faults.map((fault) => bad(markup`The rest cannot be shown: ${safeText(fault)}`))
  }${requests.length + faults.length === 0 && markup`<p>Nothing: every step of the recipe is skipped.</p>`}`;
}

interface DryRunReply {
  readonly requests?: readonly PreviewedRequest[];
  readonly faults?: readonly string[];
  readonly error?: string;
}

/** Returns `null` if the text was cut off, so that it is not JSON. */
function parseReply(text: string): DryRunReply | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function requestSection(
  { effect, step, method, url, headers, body, made_up: madeUp }: PreviewedRequest,
): Markup {
  const head = [
    `${method} ${url}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].join("\n");
  return markup`<h2>${effectName(effect)}${step !== effect && markup`: ${safeText(step)}`}</h2>
<pre class="request">${safeText(body === null ? head : `${head}\n\n${indentJson(body)}`)}</pre>
${
    madeUp.length > 0 &&
    markup`<p class="quiet">Made up, because only the CRM's responses have it: ${
      safeText(madeUp.join(", "))
    }</p>`
  }`;
}
