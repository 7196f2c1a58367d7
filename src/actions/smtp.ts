/**
 * Sends mails over SMTP, one connection each: a reused one could be closed mid-message, with an unknown outcome. The number
 * of connections is bounded.
 */

import { createTransport } from "nodemailer";
import { Buffer } from "node:buffer";
import { FairQueue, mayStart } from "../http/outbound/fair_queue.ts";
import type { MailText } from "./notification/mail.ts";
import { answerText, failed, failureWord, type Heard, notBegun, type Outcome } from "./outcome.ts";

/**
 * One ASCII address without characters at which nodemailer splits recipients, even in the envelope.
 */
export const mailAddress = /^[!#-'*+\-/-9=?A-Z^-~.]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/**
 * Concurrent connections to the mail server, shared fairly among tenants: a lone one gets half. Chosen: well below
 * Postfix's default of 50 per client, because a refusal would cost an attempt.
 */
export const mailConnectionsMax = 10;

/**
 * The share of a mail's time that it may wait. Chosen: not all of it, because a mail cut off mid-transfer may still arrive.
 */
const waitShare = 0.75;

/** The mail server and the sender. */
export interface MailConfig {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); otherwise STARTTLS as in {@linkcode openMail}. */
  readonly isSecure: boolean;
  readonly login: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
}

/** Options of {@linkcode openMail}. */
export interface MailerOptions extends MailConfig {
  /** From the call to the server's reply, including the wait for a connection. */
  readonly timeoutMs: number;
}

/** A mail to one address. */
export interface Message {
  /** The tenant. */
  readonly tenant: string;
  readonly address: string;
  /** Writes the mail when its turn comes, so that a burst is not in memory at once. */
  readonly mail: () => MailText;
  /** The local part of the `Message-ID`, the same at every attempt: letters, digits, dots and dashes. */
  readonly id: string;
  /** Its date. */
  readonly nowMs: number;
}

/** Sends a mail within its time limit; never throws. */
export type SendMail = (message: Message) => Promise<Outcome>;

/**
 * Returns a function that sends mail; without options every mail fails. A mail that got no connection in time fails with
 * `timeout_queue`, before anything was sent.
 *
 * Chosen: without `smtps:`, STARTTLS is used if offered and required with a password, except on loopback, where no
 * certificate names localhost. Text that the HTML lacks is attached, because few programs show the plain text.
 */
export function openMail(options: MailerOptions | null): SendMail {
  if (options === null) return () => Promise.resolve(failed("smtp_not_configured"));
  const { from, timeoutMs } = options;
  const transport = openTransport(options);
  const turns = new FairQueue<Turn>({
    mayStart: (ofTenant, total) => mayStart(ofTenant, total, mailConnectionsMax),
    start: (turn) => turn.begin(),
  });
  return async (message) => {
    if (!mailAddress.test(message.address)) return failed("address_refused");
    const queuedAtMs = performance.now();
    const turn = await takeTurn(turns, { tenant: message.tenant, waitMs: waitShare * timeoutMs });
    if (turn === null) return failed(notBegun);
    const queuedMs = performance.now() - queuedAtMs;
    try {
      const signal = AbortSignal.timeout(Math.max(0, Math.floor(timeoutMs - queuedMs)));
      return await post(transport, { ...messageOf(message, from), signal });
    } finally {
      turns.remove(turn);
    }
  };
}

type Transport = ReturnType<typeof openTransport>;

async function post(transport: Transport, message: Parameters<Transport["sendMail"]>[0]): Promise<Outcome> {
  try {
    const { response } = await transport.sendMail(message);
    return { kind: "done", ...smtpHeard(response) };
  } catch (error) {
    return failed(smtpWord(error), null, smtpHeard((error as { response?: unknown }).response));
  }
}

/** A waiting or running mail. */
interface Turn {
  readonly tenant: string;
  readonly begin: () => void;
}

/** Resolves with the connection, or `null` after a timeout. */
function takeTurn(
  turns: FairQueue<Turn>,
  { tenant, waitMs }: { readonly tenant: string; readonly waitMs: number },
): Promise<Turn | null> {
  return new Promise((settle) => {
    const timer = setTimeout(() => {
      turns.remove(turn);
      settle(null);
    }, waitMs);
    const begin = () => {
      clearTimeout(timer);
      settle(turn);
    };
    const turn: Turn = { tenant, begin };
    turns.add(turn);
  });
}

/** The message for nodemailer. */
function messageOf({ address, mail, id, nowMs }: Message, from: MailConfig["from"]) {
  const { subject, text, html, replyTo, isCut } = mail();
  return {
    // A separate envelope, so that no recipient comes from a header.
    envelope: { from: from.address, to: [address] },
    from,
    to: { name: "", address },
    ...(replyTo === null ? {} : { replyTo: { name: "", address: replyTo } }),
    subject,
    text,
    html,
    // Allows any line length and character and stays readable.
    textEncoding: "quoted-printable" as const,
    ...(isCut ? { attachments: [{ filename: "all.txt", content: text }] } : {}),
    date: new Date(nowMs),
    messageId: `<${id}@${hostOf(from)}>`,
    // Suppresses automatic replies (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

const hostOf = ({ address }: MailConfig["from"]) => address.slice(address.lastIndexOf("@") + 1);

/**
 * Connects to the mail server as for a mail (EHLO, STARTTLS, login) and disconnects.
 *
 * @throws {Error} with nodemailer's `code`
 */
export async function greetMailServer(options: MailerOptions): Promise<void> {
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
    // The EHLO name, instead of the machine's.
    name: hostOf(from),
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    // The signal bounds the total; these bound single waits.
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Close at once, because the next mail gets this place.
    socketCloseTimeout: 0,
    // A message must not make nodemailer read files or URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** The server's last line, such as `250 2.0.0 Ok: queued as 12345`. */
function smtpHeard(response: unknown): Heard {
  const code = /^[2-5]\d\d/.exec(String(response))?.[0];
  return code === undefined
    ? {}
    : { status: Number(code), answer: answerText(Buffer.from(String(response).slice(4))) };
}

/** 4xx asks for a retry; 5xx rejects the message. */
function smtpWord(error: unknown): string {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown };
  if (typeof responseCode === "number" && responseCode >= 400 && responseCode < 600) {
    return `smtp_${responseCode < 500 ? "deferred" : "rejected"}_${responseCode}`;
  }
  if (code === "EPROTOCOL") return "bad_response";
  if (code === "ECONNECTION" || code === "ESOCKET") return "smtp_connection";
  return failureWord(error);
}
