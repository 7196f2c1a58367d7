/** A mail server of a test: what arrived, and answers other than the usual. */

import { openSmtp, type Received, type Step } from "../../../scripts/caught/smtp_server.ts";
import { atEnd } from "../at_end.ts";

export type { Received, Step };

/** A listening mail server. */
export interface SmtpListener {
  readonly port: number;
  readonly messages: readonly Received[];
  /** Connections that were opened. */
  readonly connections: number;
  /** Every command line that was heard. */
  readonly commands: readonly string[];
  /** Other answers than the usual: a line, or `null` to say nothing at all. A line like `250-…` goes on for ever. */
  readonly answers: Map<Step, string | null>;
  /** Mailboxes that take nothing at the moment: 451. */
  readonly deferred: Set<string>;
  /** Answers the recipients that match only when told to: each has its call in the list that comes back. */
  hold(recipients: RegExp): readonly (() => void)[];
}

/** Starts one on loopback. */
export async function startSmtp(): Promise<SmtpListener> {
  const messages: Received[] = [];
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
    answers,
    deferred,
  });
  atEnd(() => server.close());
  return {
    ...{ port: server.port, messages, commands, answers, deferred },
    get connections() {
      return connections;
    },
    hold(recipients) {
      holds = recipients;
      return held;
    },
  };
}
