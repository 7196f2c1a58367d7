/** Implements the destinations: CRM (recipe or signed webhook), email, and Slack. */

import { createHmac } from "node:crypto";
import { RequestRate } from "../limiter/request_rate.ts";
import type { TokenStore } from "../store/delivery/tokens.ts";
import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import { type RecipeParts, runRecipe } from "./crm/engine.ts";
import type { Expressions } from "./crm/expressions.ts";
import { Tokens } from "./crm/tokens.ts";
import type { Destination, EventToRender, SendRequest } from "./destination.ts";
import { contentName, type DeliveredEvent } from "./event.ts";
import type { Row } from "../notification/content.ts";
import { eventNotification } from "../notification/event.ts";
import { type MailText, renderMail } from "../notification/mail.ts";
import type { Outcome } from "./outcome.ts";
import { previewRecipe } from "./recipe_preview.ts";
import type { SendMail } from "./smtp.ts";

/** Creates the CRM destination: a recipe, or else a signed webhook. */
export function crmDestination(post: CheckedPost, recipes: RecipeParts): Destination {
  return {
    kind: "crm",
    async send(sending) {
      const { event, tenant, isTest, earlier, route: { recipe }, progress, saveProgress, onStep } = sending;
      if (recipe !== null) {
        const report = onStep === undefined ? {} : { onStep };
        const run = { event, tenant, isTest, earlier, route: recipe, progress, saveProgress, ...report };
        return await runRecipe(run, recipes);
      }
      return await sendWebhook(post, sending);
    },
    async preview(sending) {
      const { address, recipe } = sending.route;
      if (recipe !== null) return await previewRecipe(sending, recipes.expressions);
      const { body, headers } = webhookRequest(sending);
      const shown = { ...headers, "webhook-signature": "***" };
      return {
        requests: [{ step: "webhook", method: "POST", url: address, headers: shown, body, madeUp: [] }],
        fault: null,
      };
    },
  };
}

/** The statuses with which a webhook refuses an event for good. Source: DECISIONS, section 11 (CRM). */
const neverAgain = [410, 422];

/** Posts a signed webhook. */
export async function sendWebhook(post: CheckedPost, sending: SendRequest): Promise<Outcome> {
  const { event, route: { address } } = sending;
  const outcome = await post.send(address, { tenant: event.tenant, ...webhookRequest(sending) });
  if (outcome.kind !== "failed" || !neverAgain.includes(outcome.status ?? 0)) return outcome;
  return { ...outcome, kind: "refused" };
}

function webhookRequest({ event, isTest, nowMs, route: { secrets } }: SendRequest) {
  const body = webhookBody(event, { isTest });
  return { body, headers: signatureHeaders(event.eventId, body, secrets, nowMs) };
}

/**
 * Returns the webhook's body, identical on every attempt. Its type and `"test":true` in its data mark a test.
 *
 * Source: DECISIONS, Delivery (CRM route), and Decided since (Webhook test).
 */
export function webhookBody(event: DeliveredEvent, { isTest }: { readonly isTest: boolean }): string {
  const type = isTest ? "route.test" : event.kind === "lead" ? "lead.accepted" : "form.submitted";
  const json = (value: unknown) => JSON.stringify(value);
  return `{"type":"${type}","timestamp":${json(event.receivedAt)},"data":{` +
    `"event_id":${json(event.eventId)},"tenant":${json(event.tenant)},"source":${json(event.source)},` +
    `"received_at":${json(event.receivedAt)},"${contentName(event.kind)}":${event.content},` +
    `"extra":${event.extra},"flags":${json(event.flags)}${isTest ? ',"test":true' : ""}}}`;
}

/**
 * Returns the headers of a signed webhook, with one signature per secret, so that secrets can be rotated.
 *
 * Source: Standard Webhooks, Signature scheme.
 */
export function signatureHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/**
 * Creates the email destination. Only a resend by an operator gets a new `Message-ID`, because mail programs drop duplicates. The
 * preview has the plain-text part, and masks the recipient as the console does.
 */
export function emailDestination(send: SendMail): Destination {
  return {
    kind: "email",
    send(request) {
      const { event, route: { address }, repeat, nowMs } = request;
      const id = `${event.eventId}${repeat === 0 ? "" : `.${repeat}`}`;
      return send({
        tenant: event.tenant,
        address,
        mail: () => renderEventMail(request),
        id,
        nowMs,
      });
    },
    preview(request) {
      const { subject, text, replyTo } = renderEventMail(request);
      const to = request.route.address.replace(/(?<=^.).*(?=@)/, "…");
      const headers = { To: to, ...(replyTo === null ? {} : { "Reply-To": replyTo }), Subject: subject };
      return Promise.resolve({
        requests: [{ step: "email", method: "SMTP", url: `mailto:${to}`, headers, body: text, madeUp: [] }],
        fault: null,
      });
    },
  };
}

/** Renders an event's email, which a reply quotes to the sender. */
export function renderEventMail(request: EventToRender): MailText {
  return renderMail(eventNotification(request, { isQuotable: true }));
}

/** Creates the Slack destination. The route's URL is itself the credential. */
function slackDestination(post: CheckedPost): Destination {
  const bodyOf = (request: SendRequest) => JSON.stringify({ text: slackText(request), mrkdwn: false });
  return {
    kind: "slack",
    send(request) {
      return post.send(request.route.address, { tenant: request.event.tenant, body: bodyOf(request) });
    },
    preview(request) {
      const url = `${new URL(request.route.address).origin}/***`;
      return Promise.resolve({
        requests: [{ step: "slack", method: "POST", url, headers: {}, body: bodyOf(request), madeUp: [] }],
        fault: null,
      });
    },
  };
}

/** The maximum length of a line before escaping, in UTF-16 code units. */
const lineLengthMax = 200;

/**
 * Chosen: only `text`, in which Slack does not resolve @here or #general, and no markup, so that asterisks in a sender's
 * text stay literal. Links in `<>` still work.
 */
export function slackText(request: EventToRender): string {
  const { banner, opening, title, subtitle, quote, notes, buttons, sections, about } = eventNotification(
    request,
    {
      isQuotable: false,
    },
  );
  const contact = sections.find(({ heading }) => heading === "Contact")?.rows ?? [];
  const plainContacts = contact.filter(({ label, link }) =>
    /^(?:Phone|Email)$/.test(label) && link === undefined
  );
  const labeled = (rows: readonly Row[]) => rows.map(({ label, value }) => `${label}: ${value}`);
  const lines = [
    banner ?? "",
    `${opening}: ${title}`,
    subtitle,
    quote?.text ?? "",
    ...labeled(plainContacts),
    ...notes,
  ];
  return [
    ...lines.map(slackLine),
    // The parts are validated, so they cannot end the link.
    buttons.map(({ label, detail, href }) => `<${href}|${label} ${detail}>`).join(" · "),
    labeled(about).map(slackLine).join(" · "),
  ].filter((text) => text !== "").join("\n");
}

function slackLine(text: string): string {
  const start = text.slice(0, lineLengthMax).toWellFormed().replace(/\s+/g, " ");
  return escapeSlack(start) + (text.length > lineLengthMax ? "…" : "");
}

/**
 * Escapes Slack's three markup characters, and puts zero-width spaces into text that Slack would turn into links.
 *
 * Source: Slack, Formatting message text (escaping; automatic parsing).
 */
function escapeSlack(text: string): string {
  return text.replace(/(?<=\S)(?::\/\/|\.+)(?=\S)|@+/g, "$&\u200b")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

interface DestinationOptions extends CheckedPostOptions {
  readonly sendMail: SendMail;
  readonly tokens: TokenStore;
  readonly expressions: Expressions;
  readonly monotonicMs: () => number;
}

export function createDestinations(options: DestinationOptions): readonly Destination[] {
  const { expressions, monotonicMs, timeoutMs: effectTimeoutMs } = options;
  const post = new CheckedPost(options);
  const tokens = new Tokens({ store: options.tokens, post, effectTimeoutMs, monotonicMs });
  const rates = new RequestRate();
  return [
    crmDestination(post, { post, expressions, tokens, rates, effectTimeoutMs, monotonicMs }),
    emailDestination(options.sendMail),
    slackDestination(post),
  ];
}
