/** Implements the destinations: signed webhook (CRM), email, and Slack. */

import { createHmac } from "node:crypto";
import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import type { Destination, SendRequest } from "./destination.ts";
import { contentName, type DeliveredEvent } from "./event.ts";
import { eventNotification } from "./notification/event.ts";
import { renderMail } from "./notification/mail.ts";
import type { SendMail } from "./smtp.ts";

export function crmDestination(post: CheckedPost): Destination {
  return {
    kind: "crm",
    send({ event, route: { address, secrets }, nowMs, isTest }) {
      const body = webhookBody(event, { isTest });
      const headers = signatureHeaders(event.eventId, body, secrets, nowMs);
      return post.send(address, { tenant: event.tenant, body, headers });
    },
  };
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

/** Creates the email destination. Only a resend by an operator gets a new `Message-ID`, because mail programs drop duplicates. */
export function emailDestination(send: SendMail): Destination {
  return {
    kind: "email",
    send(request) {
      const { event, route: { address }, repeat, nowMs } = request;
      const id = `${event.eventId}${repeat === 0 ? "" : `.${repeat}`}`;
      return send({
        tenant: event.tenant,
        address,
        mail: () => renderMail(eventNotification(request)),
        id,
        nowMs,
      });
    },
  };
}

/** Creates the Slack destination. The route's URL is itself the credential. */
function slackDestination(post: CheckedPost): Destination {
  return {
    kind: "slack",
    send(request) {
      const body = JSON.stringify({ text: slackText(request), mrkdwn: false });
      return post.send(request.route.address, { tenant: request.event.tenant, body });
    },
  };
}

/** The maximum length of a line before escaping, in UTF-16 code units. */
const lineLengthMax = 200;

/**
 * Chosen: only `text`, in which Slack does not resolve @here or #general, and no markup, so that asterisks in a sender's
 * text stay literal. Links in `<>` still work.
 */
export function slackText(request: Pick<SendRequest, "event" | "tenant" | "isTest">): string {
  const { banner, opening, title, subtitle, quote, buttons, sections } = eventNotification(request);
  const contact = sections.find(({ heading }) => heading === "Contact")?.rows ?? [];
  const plainContacts = contact.filter(({ label, link }) =>
    /^(?:Phone|Email)$/.test(label) && link === undefined
  );
  const lines = [banner ?? "", `${opening}: ${title}`, subtitle, quote?.text ?? ""];
  return [
    ...[...lines, ...plainContacts.map(({ label, value }) => `${label}: ${value}`)].map(slackLine),
    // The parts are validated, so they cannot end the link.
    buttons.map(({ label, detail, href }) => `<${href}|${label} ${detail}>`).join(" · "),
    `Event: ${request.event.eventId}`,
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
}

export function createDestinations(options: DestinationOptions): readonly Destination[] {
  const post = new CheckedPost(options);
  return [
    crmDestination(post),
    emailDestination(options.sendMail),
    slackDestination(post),
  ];
}
