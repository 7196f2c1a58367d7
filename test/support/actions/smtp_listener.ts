/** A mail server that records messages and can be told to fail. */

import { openSmtp, type ReceivedMail, type Step } from "../../../scripts/mail_catcher/smtp_server.ts";
import { atEnd } from "../at_end.ts";

export type { ReceivedMail, Step };

/** A listening mail server. */
export interface SmtpListener {
  readonly port: number;
  readonly messages: readonly ReceivedMail[];
  /** The number of connections accepted so far. */
  readonly connections: number;
  /** Every command line received. */
  readonly commands: readonly string[];
  /** Replaces the standard replies: a line, or `null` to send none. A line such as `250-…` never ends the reply. */
  readonly answers: Map<Step, string | null>;
  /** Mailboxes that are deferred with 451. */
  readonly deferred: Set<string>;
  /** Delays the replies for matching recipients; each function in the returned list sends one. */
  hold(recipients: RegExp): readonly (() => void)[];
}

/** Starts a mail server on loopback. */
export async function startSmtp(): Promise<SmtpListener> {
  const messages: ReceivedMail[] = [];
  const commands: string[] = [];
  const answers = new Map<Step, string | null>();
  const deferred = new Set<string>();
  const held: (() => void)[] = [];
  let holds: RegExp | null = null;
  let connections = 0;
  const server = await openSmtp({
    onMessage: (message) => messages.push(message),
    onConnection: () => connections++,
    onCommand: (line) => commands.push(line),
    hold: (line, answer) => line.startsWith("RCPT") && holds?.test(line) === true && held.push(answer) > 0,
    replies: answers,
    deferred,
  });
  atEnd(() => server.close());
  return {
    port: server.port,
    messages,
    commands,
    answers,
    deferred,
    get connections() {
      return connections;
    },
    hold(recipients) {
      holds = recipients;
      return held;
    },
  };
}
