/**
 * A mail server that keeps messages and relays nothing: enough SMTP to accept or refuse a message. For `npm start` and the
 * tests, on this machine only.
 */

import { type AddressInfo, createServer, type Socket } from "node:net";

/** A message that was accepted or refused after its last line. */
export interface Received {
  /** As in `MAIL FROM:<…>`, with its parameters. */
  readonly from: string;
  /** As in each `RCPT TO:<…>`. */
  readonly to: readonly string[];
  /** Header and body as received, dots unstuffed. */
  readonly raw: string;
}

/** The SMTP commands that can get another reply; `"message"` is the end of the data. */
export type Step = "greeting" | "EHLO" | "AUTH" | "MAIL" | "RCPT" | "DATA" | "message";

/** How the server handles and answers messages. */
export interface SmtpOptions {
  readonly onMessage: (message: Received) => void;
  readonly onConnection?: () => void;
  /** Called with every command line. */
  readonly onCommand?: (line: string) => void;
  /** Whether a command is answered only when `answer` is called. */
  readonly hold?: (line: string, answer: () => void) => boolean;
  /** Replies other than the usual: a line, or `null` for silence. A line such as `250-…` is repeated forever. */
  readonly answers?: ReadonlyMap<Step, string | null>;
  /** Mailboxes that reply 451. */
  readonly deferred?: ReadonlySet<string>;
}

/** A listening mail server. */
export interface SmtpServer {
  readonly port: number;
  close(): void;
}

const bytesMax = 10_000_000;
// Postfix's default per client; the actions process opens fewer.
const connectionsMax = 50;

const usual: Readonly<Record<Step, string>> = {
  greeting: "220 mail.test ready",
  EHLO: `250-mail.test\r\n250-8BITMIME\r\n250 SIZE ${bytesMax}`,
  AUTH: "235 accepted",
  MAIL: "250 ok",
  RCPT: "250 ok",
  DATA: "354 go on",
  message: "250 queued",
};

/** Starts one on a free port of 127.0.0.1. */
export async function openSmtp(options: SmtpOptions): Promise<SmtpServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    options.onConnection?.();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    converse(socket, options);
  });
  server.maxConnections = connectionsMax;
  await new Promise<void>((settle, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", settle);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function converse(socket: Socket, { onMessage, onCommand, hold, answers, deferred }: SmtpOptions): void {
  let from = "";
  let to: string[] = [];
  let data: string[] | null = null;
  let rest = "";
  let bytes = 0;
  const say = (step: Step): boolean => {
    const line = answers?.has(step) ? answers.get(step) as string | null : usual[step];
    if (line !== null) socket.write(`${line}\r\n`);
    if (/^\d{3}-[^\r]*$/.test(line ?? "")) {
      const timer = setInterval(() => socket.write(`${line}\r\n`), 20);
      socket.on("close", () => clearInterval(timer));
    }
    return line?.startsWith("2") === true || line?.startsWith("3") === true;
  };
  const hear = (line: string) => {
    if (data !== null) {
      if (line !== ".") {
        data.push(line.startsWith(".") ? line.slice(1) : line);
        return;
      }
      onMessage({ from, to, raw: data.join("\r\n") });
      data = null;
      bytes = 0;
      say("message");
      return;
    }
    onCommand?.(line);
    if (hold?.(line, () => obey(line)) !== true) obey(line);
  };
  const obey = (line: string) => {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === "EHLO" || verb === "HELO") say("EHLO");
    else if (verb === "AUTH") say("AUTH");
    else if (verb === "MAIL") [from, to] = (say("MAIL"), [line.slice("MAIL FROM:".length), []]);
    else if (verb === "RCPT") {
      if (deferred?.has(line.slice("RCPT TO:<".length, -1))) socket.write("451 later\r\n");
      else if (say("RCPT")) to.push(line.slice("RCPT TO:".length));
    } else if (verb === "DATA") data = say("DATA") ? [] : null;
    else if (verb === "QUIT") socket.end("221 bye\r\n");
    else socket.write("250 ok\r\n");
  };
  socket.setEncoding("utf8").on("data", (text: string) => {
    bytes += text.length;
    if (bytes > bytesMax) return void socket.end("552 too much\r\n");
    const lines = (rest + text).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
  say("greeting");
}
