/**
 * Mails over SMTP, each over a connection of its own: one that is kept may be closed under a message, whose outcome then
 * nobody knows. So there is no pool; but no more than so many at once, and what waits for its turn is not begun yet.
 *
 * @module
 */

import { createTransport } from "nodemailer";
import { Buffer } from "node:buffer";
import { FairQueue, mayStart } from "../http/outbound/fair_queue.ts";
import type { MailText } from "./notification/mail.ts";
import { answerText, failed, failureWord, type Heard, notBegun, type Outcome } from "./outcome.ts";

/**
 * One address, ASCII, with nothing that nodemailer could take for a second one: it splits recipients at commas, also
 * those of the envelope.
 */
export const mailAddress = /^[!#-'*+\-/-9=?A-Z^-~.]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/**
 * Connections to the mail server at once. Tenants share them as they share the deliveries at once: one that is alone gets
 * half, and there is one at once for the next that comes.
 *
 * Chosen: well below what mail servers take of one address (Postfix 50, where nobody has set it otherwise); what they
 * refuse beyond that is an attempt of a lead.
 */
export const mailConnectionsMax = 10;

/**
 * How much of a mail's time it may wait for its turn. Chosen: not all of it, because a mail that is begun in its last
 * moment is cut off in its midst, and may arrive all the same.
 */
const waitShare = 0.75;

/** The mail server and the sender. */
export interface MailConfig {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); otherwise STARTTLS where it is due, see {@linkcode openMail}. */
  readonly isSecure: boolean;
  readonly login: { readonly user: string; readonly password: string } | null;
  readonly from: { readonly name: string; readonly address: string };
}

/** How mail is sent. */
export interface MailerOptions extends MailConfig {
  /** From the call to the server's answer to the message; the wait for a connection is in it. */
  readonly timeoutMs: number;
}

/** A mail to one address. */
export interface Message {
  /** Whose leads or figures it tells of. */
  readonly tenant: string;
  readonly address: string;
  /** Called when its turn has come: a burst to many recipients is not to be written in memory all at once. */
  readonly mail: () => MailText;
  /** What comes before the `@` of the `Message-ID`, the same at every attempt: letters, digits, dots and dashes. */
  readonly id: string;
  /** Its date. */
  readonly nowMs: number;
}

/** Sends it, within the bound; never throws. */
export type SendMail = (message: Message) => Promise<Outcome>;

/**
 * Opens a way to send mail. Without options there is none, and every mail fails. One that found no connection in time, of
 * the {@linkcode mailConnectionsMax} that there are, is `timeout_queue`: nothing of it was begun.
 *
 * Chosen: without `smtps:`, STARTTLS is used where the server offers it and required where there is a password;
 * on loopback it is left out, because nothing crosses a network and no certificate there names localhost. What the HTML
 * lacks is attached as a file, because few programs show the plain text beside it.
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

/** A mail that waits for a connection, or has one. */
interface Turn {
  readonly tenant: string;
  readonly begin: () => void;
}

/** Resolves when it has come; `null` when it has not in this time. */
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

/** As nodemailer takes it. */
function messageOf({ address, mail, id, nowMs }: Message, from: MailConfig["from"]) {
  const { subject, text, html, replyTo, isCut } = mail();
  return {
    // The envelope is given apart, so that no recipient is ever read from a header.
    envelope: { from: from.address, to: [address] },
    from,
    to: { name: "", address },
    ...(replyTo === null ? {} : { replyTo: { name: "", address: replyTo } }),
    subject,
    text,
    html,
    // Lines of any length and any character, and text that is still read in the raw.
    textEncoding: "quoted-printable" as const,
    ...(isCut ? { attachments: [{ filename: "all.txt", content: text }] } : {}),
    date: new Date(nowMs),
    messageId: `<${id}@${hostOf(from)}>`,
    // Answering machines keep silent (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
  };
}

const hostOf = ({ address }: MailConfig["from"]) => address.slice(address.lastIndexOf("@") + 1);

/**
 * Connects to the mail server as for a mail, says EHLO, STARTTLS where it is due, logs in, and hangs up.
 *
 * @throws {Error} with nodemailer's `code`, when one of these fails
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
    // What it says in EHLO; the machine's own name is nobody's business.
    name: hostOf(from),
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    // The signal bounds the whole; these end the parts of it that are waiting.
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Its place goes to the next mail: no connection is left half closed beside that.
    socketCloseTimeout: 0,
    // Nothing in a message may make it read a file or a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** The server's last line, `250 2.0.0 Ok: queued as 12345`. */
function smtpHeard(response: unknown): Heard {
  const code = /^[2-5]\d\d/.exec(String(response))?.[0];
  return code === undefined
    ? {}
    : { status: Number(code), answer: answerText(Buffer.from(String(response).slice(4))) };
}

/** 4xx: the server asks to come again; 5xx: it will not take this message. */
function smtpWord(error: unknown): string {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown };
  if (typeof responseCode === "number" && responseCode >= 400 && responseCode < 600) {
    return `smtp_${responseCode < 500 ? "deferred" : "rejected"}_${responseCode}`;
  }
  if (code === "EPROTOCOL") return "bad_response";
  if (code === "ECONNECTION" || code === "ESOCKET") return "smtp_connection";
  return failureWord(error);
}
