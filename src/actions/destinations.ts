/** The destinations: signed webhook (CRM), mail, and Slack. */

import { createHmac } from "node:crypto";
import { CheckedPost, type CheckedPostOptions } from "./checked_post.ts";
import type { Destination, Sending } from "./destination.ts";
import { contentName, type DeliveredEvent } from "./event.ts";
import { eventNotification } from "./notification/event.ts";
import { mailOf } from "./notification/mail.ts";
import type { SendMail } from "./smtp.ts";

/** The webhook destination. */
export function crmWebhook(post: CheckedPost): Destination {
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
 * The webhook's body, identical at every attempt. A test is marked by its type and by `"test":true` in its data.
 *
 * Source: DECISIONS, Delivery (CRM route), and Decided since (Webhook test).
 */
export function webhookBody(event: DeliveredEvent, { isTest }: { readonly isTest: boolean }): string {
  const type = isTest ? "route.test" : event.kind === "lead" ? "lead.accepted" : "form.submitted";
  const text = (value: unknown) => JSON.stringify(value);
  return `{"type":"${type}","timestamp":${text(event.receivedAt)},"data":{` +
    `"event_id":${text(event.eventId)},"tenant":${text(event.tenant)},"source":${text(event.source)},` +
    `"received_at":${text(event.receivedAt)},"${contentName(event.kind)}":${event.content},` +
    `"extra":${event.extra},"flags":${text(event.flags)}${isTest ? ',"test":true' : ""}}}`;
}

/**
 * The headers of a signed webhook, with one signature per secret, so that secrets can be rotated.
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
 * The mail destination. Attempts share a `Message-ID`; sending again uses another one, because mail programs drop
 * duplicates.
 */
export function mailer(send: SendMail): Destination {
  return {
    kind: "email",
    send(sending) {
      const { event, route: { address }, repeat, nowMs } = sending;
      const id = `${event.eventId}${repeat === 0 ? "" : `.${repeat}`}`;
      return send({
        tenant: event.tenant,
        address,
        mail: () => mailOf(eventNotification(sending)),
        id,
        nowMs,
      });
    },
  };
}

/** The Slack destination. Its URL is a secret that permits posting. */
function slackWebhook(post: CheckedPost): Destination {
  return {
    kind: "slack",
    send(sending) {
      const body = JSON.stringify({ text: slackText(sending), mrkdwn: false });
      return post.send(sending.route.address, { tenant: sending.event.tenant, body });
    },
  };
}

/** Maximum length of a line in UTF-16 units. */
const lineLengthMax = 200;

/**
 * The message: who, what, where, and links to call and to write.
 *
 * Chosen: only `text`, in which Slack does not resolve @here or #general, and with markup off, so that a stranger's
 * asterisks format nothing. Links in `<>` still work.
 */
export function slackText(sending: Pick<Sending, "event" | "tenant" | "isTest">): string {
  const { banner, opening, title, subtitle, quote, buttons, sections } = eventNotification(sending);
  const contact = sections.find(({ heading }) => heading === "Contact")?.rows ?? [];
  const unlinked = contact.filter(({ label, link }) => /^(?:Phone|Email)$/.test(label) && link === undefined);
  const lines = [banner ?? "", `${opening}: ${title}`, subtitle, quote?.text ?? ""];
  return [
    ...[...lines, ...unlinked.map(({ label, value }) => `${label}: ${value}`)].map(line),
    // Our own URL from validated parts, which cannot end the link.
    buttons.map(({ label, detail, href }) => `<${href}|${label} ${detail}>`).join(" · "),
    `Event: ${sending.event.eventId}`,
  ].filter((text) => text !== "").join("\n");
}

function line(text: string): string {
  const start = text.slice(0, lineLengthMax).toWellFormed().replace(/\s+/g, " ");
  return inert(start) + (text.length > lineLengthMax ? "…" : "");
}

/**
 * Escapes text for Slack: the three markup characters, and a zero-width space inside addresses that Slack would link.
 *
 * Source: Slack, Formatting message text (escaping; automatic parsing).
 */
function inert(text: string): string {
  return text.replace(/(?<=\S)(?::\/\/|\.+)(?=\S)|@+/g, "$&\u200b")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The destinations' dependencies. */
interface DestinationsOptions extends CheckedPostOptions {
  readonly sendMail: SendMail;
}

/** Creates all destinations. */
export function openDestinations(options: DestinationsOptions): readonly Destination[] {
  const post = new CheckedPost(options);
  return [
    crmWebhook(post),
    mailer(options.sendMail),
    slackWebhook(post),
  ];
}
