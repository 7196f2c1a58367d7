/** Sends email over SMTP. Each email has its own connection, because a reused connection could close during a transfer. */

import { createTransport } from "nodemailer";
import { Buffer } from "node:buffer";
import { FairQueue, mayStart } from "../http/outbound/fair_queue.ts";
import type { MailText } from "../notification/mail.ts";
import {
  failed,
  failureReason,
  type Outcome,
  queueTimeout,
  type ReceivedResponse,
  responseText,
} from "./outcome.ts";

/** Matches one ASCII address without the characters at which nodemailer splits recipients, even in the envelope. */
export const mailAddress = /^[!#-'*+\-/-9=?A-Z^-~.]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/**
 * The maximum number of connections to the mail server; a single tenant may use half. Chosen: well below
 * Postfix's default of 50 per client, because a refusal would cost an attempt.
 */
export const mailConnectionsMax = 10;

// The maximum share of the time limit spent waiting for a connection; the rest is left for the transfer, because an email
// that is cut off during the transfer may still arrive.
const queueTimeShare = 0.75;

export interface MailConfig {
  readonly host: string;
  readonly port: number;
  /** Whether TLS starts with the first byte (`smtps:`); if not, see {@linkcode openMail}. */
  readonly isSecure: boolean;
  readonly login: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
}

export interface MailerOptions extends MailConfig {
  /** The time limit from the call to the server's reply, including the wait for a connection. */
  readonly timeoutMs: number;
}

export interface Message {
  readonly tenant: string;
  readonly address: string;
  /** Renders the email when a connection is free, so that a burst of emails is never in memory all at once. */
  readonly mail: () => MailText;
  /** The local part of the `Message-ID`, the same on every attempt: letters, digits, dots and hyphens. */
  readonly id: string;
  /** The email's date, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Sends an email within the time limit; never rejects. */
export type SendMail = (message: Message) => Promise<Outcome>;

/**
 * Returns a function that sends email; without options, every call fails. An email that gets no connection in time
 * fails with `timeout_queue` and is not sent.
 *
 * Chosen: without `smtps:`, STARTTLS is used if offered, and required with a password, except on loopback, where no
 * certificate names localhost.
 */
export function openMail(options: MailerOptions | null): SendMail {
  if (options === null) return () => Promise.resolve(failed("smtp_not_configured"));
  const { from, timeoutMs } = options;
  const transport = openTransport(options);
  const queue = new FairQueue<Slot>({
    mayStart: (inFlight, total) => mayStart(inFlight, total, mailConnectionsMax),
    start: (slot) => slot.start(),
  });
  return async (message) => {
    if (!mailAddress.test(message.address)) return failed("address_refused");
    const queuedAtMs = performance.now();
    const slot = await waitForSlot(queue, { tenant: message.tenant, waitMs: queueTimeShare * timeoutMs });
    if (slot === null) return failed(queueTimeout);
    const queuedMs = performance.now() - queuedAtMs;
    try {
      const signal = AbortSignal.timeout(Math.max(0, Math.floor(timeoutMs - queuedMs)));
      return await sendMessage(transport, { ...buildMessage(message, from), signal });
    } finally {
      queue.remove(slot);
    }
  };
}

type Transport = ReturnType<typeof openTransport>;

async function sendMessage(
  transport: Transport,
  message: Parameters<Transport["sendMail"]>[0],
): Promise<Outcome> {
  try {
    const { response } = await transport.sendMail(message);
    return { kind: "done", ...smtpResponse(response) };
  } catch (error) {
    return failed(smtpReason(error), null, smtpResponse((error as { response?: unknown }).response));
  }
}

interface Slot {
  readonly tenant: string;
  readonly start: () => void;
}

/** Waits for a slot; resolves with `null` after `waitMs`. */
function waitForSlot(
  queue: FairQueue<Slot>,
  { tenant, waitMs }: { readonly tenant: string; readonly waitMs: number },
): Promise<Slot | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      queue.remove(slot);
      resolve(null);
    }, waitMs);
    const start = () => {
      clearTimeout(timer);
      resolve(slot);
    };
    const slot: Slot = { tenant, start };
    queue.add(slot);
  });
}

function buildMessage({ address, mail, id, nowMs }: Message, from: MailConfig["from"]) {
  const { subject, text, html, replyTo, isCut } = mail();
  return {
    // Otherwise nodemailer would read the recipients from the headers.
    envelope: { from: from.address, to: [address] },
    from,
    to: { name: "", address },
    ...(replyTo === null ? {} : { replyTo: { name: "", address: replyTo } }),
    subject,
    text,
    html,
    textEncoding: "quoted-printable" as const,
    // Attached, because few mail programs show the plain-text part.
    ...(isCut ? { attachments: [{ filename: "all.txt", content: text }] } : {}),
    date: new Date(nowMs),
    messageId: `<${id}@${senderDomain(from)}>`,
    // Suppresses automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

const senderDomain = ({ address }: MailConfig["from"]) => address.slice(address.lastIndexOf("@") + 1);

/**
 * Connects to the mail server as for sending an email (EHLO, STARTTLS, login), and disconnects.
 *
 * @throws {Error} with nodemailer's `code`
 */
export async function verifyMailServer(options: MailerOptions): Promise<void> {
  const transport = openTransport(options);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

function openTransport(options: MailerOptions) {
  const { host, port, isSecure, login, from, timeoutMs } = options;
  const isLoopback = /^(localhost|::1|127(\.\d{1,3}){3})$/.test(host);
  return createTransport({
    host,
    port,
    secure: isSecure,
    ignoreTLS: !isSecure && isLoopback,
    requireTLS: !isSecure && !isLoopback && login !== null,
    tls: { minVersion: "TLSv1.2" },
    // The host name to send with EHLO.
    name: senderDomain(from),
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Lets the next email start as soon as this one ends.
    socketCloseTimeout: 0,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Parses the server's last reply, such as `250 2.0.0 Ok: queued as 12345`. */
function smtpResponse(response: unknown): ReceivedResponse {
  const code = /^[2-5]\d\d/.exec(String(response))?.[0];
  return code === undefined
    ? {}
    : { status: Number(code), answer: responseText(Buffer.from(String(response).slice(4))) };
}

function smtpReason(error: unknown): string {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown };
  if (typeof responseCode === "number" && responseCode >= 400 && responseCode < 600) {
    return `smtp_${responseCode < 500 ? "deferred" : "rejected"}_${responseCode}`;
  }
  if (code === "EPROTOCOL") return "bad_response";
  if (code === "ECONNECTION" || code === "ESOCKET") return "smtp_connection";
  return failureReason(error);
}
