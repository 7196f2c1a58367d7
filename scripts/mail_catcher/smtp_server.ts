/**
 * A mail server for `npm start` and the tests, on this machine only. It relays nothing, and implements only enough SMTP to
 * accept or refuse a message.
 */

import { type AddressInfo, createServer, type Socket } from "node:net";

/** A message that was accepted or refused after its last line. */
export interface ReceivedMail {
  /** The text after `MAIL FROM:`, with its parameters. */
  readonly from: string;
  /** The text after each `RCPT TO:`. */
  readonly to: readonly string[];
  /** The header and body as received, without dot stuffing. */
  readonly raw: string;
}

/** The steps whose reply can be changed; `"message"` is the end of the data. */
export type Step = "greeting" | "EHLO" | "AUTH" | "MAIL" | "RCPT" | "DATA" | "message";

export interface SmtpOptions {
  readonly onMessage: (message: ReceivedMail) => void;
  readonly onConnection?: () => void;
  /** Called with every command line. */
  readonly onCommand?: (line: string) => void;
  /** Returns whether to delay the reply to a command until `reply` is called. */
  readonly hold?: (line: string, reply: () => void) => boolean;
  /** The changed replies: a line, or `null` for silence. A line such as `250-…` is repeated forever. */
  readonly replies?: ReadonlyMap<Step, string | null>;
  /** The mailboxes for which the reply is 451. */
  readonly deferred?: ReadonlySet<string>;
}

export interface SmtpServer {
  readonly port: number;
  close(): void;
}

const bytesMax = 10_000_000;
// Postfix's default per client; the actions process opens fewer.
const connectionsMax = 50;

const defaultReplies: Readonly<Record<Step, string>> = {
  greeting: "220 mail.test ready",
  EHLO: `250-mail.test\r\n250-8BITMIME\r\n250 SIZE ${bytesMax}`,
  AUTH: "235 accepted",
  MAIL: "250 ok",
  RCPT: "250 ok",
  DATA: "354 go on",
  message: "250 queued",
};

/** Starts a mail server on a free port on 127.0.0.1. */
export async function openSmtp(options: SmtpOptions): Promise<SmtpServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    options.onConnection?.();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    serveConnection(socket, options);
  });
  server.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function serveConnection(
  socket: Socket,
  { onMessage, onCommand, hold, replies, deferred }: SmtpOptions,
): void {
  let from = "";
  let to: string[] = [];
  let data: string[] | null = null;
  let incompleteLine = "";
  let bytes = 0;
  const reply = (step: Step): boolean => {
    const line = replies?.has(step) ? replies.get(step) as string | null : defaultReplies[step];
    if (line !== null) socket.write(`${line}\r\n`);
    if (/^\d{3}-[^\r]*$/.test(line ?? "")) {
      const timer = setInterval(() => socket.write(`${line}\r\n`), 20);
      socket.on("close", () => clearInterval(timer));
    }
    return line?.startsWith("2") === true || line?.startsWith("3") === true;
  };
  const receive = (line: string) => {
    if (data !== null) {
      if (line !== ".") {
        data.push(line.startsWith(".") ? line.slice(1) : line);
        return;
      }
      onMessage({ from, to, raw: data.join("\r\n") });
      data = null;
      bytes = 0;
      reply("message");
      return;
    }
    onCommand?.(line);
    if (hold?.(line, () => execute(line)) !== true) execute(line);
  };
  const execute = (line: string) => {
    const command = line.slice(0, 4).toUpperCase();
    if (command === "EHLO" || command === "HELO") reply("EHLO");
    else if (command === "AUTH") reply("AUTH");
    else if (command === "MAIL") [from, to] = (reply("MAIL"), [line.slice("MAIL FROM:".length), []]);
    else if (command === "RCPT") {
      if (deferred?.has(line.slice("RCPT TO:<".length, -1))) socket.write("451 later\r\n");
      else if (reply("RCPT")) to.push(line.slice("RCPT TO:".length));
    } else if (command === "DATA") data = reply("DATA") ? [] : null;
    else if (command === "QUIT") socket.end("221 bye\r\n");
    else socket.write("250 ok\r\n");
  };
  socket.setEncoding("utf8").on("data", (text: string) => {
    bytes += text.length;
    if (bytes > bytesMax) return void socket.end("552 too much\r\n");
    const lines = (incompleteLine + text).split("\r\n");
    incompleteLine = lines.pop() ?? "";
    for (const line of lines) receive(line);
  });
  reply("greeting");
}
