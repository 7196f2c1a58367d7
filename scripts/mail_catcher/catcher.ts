/**
 * Runs a mail server and a webhook receiver for development, and serves a page that shows what they have received. All of
 * them listen on this machine only.
 */

import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { signatureHeaders } from "../../src/actions/destinations.ts";
import type { ListenAddress } from "../../src/settings/reader.ts";
import {
  type CaughtMessage,
  htmlPage,
  listPage,
  type Page,
  renderMessage,
  styleSheet,
  textPage,
} from "./pages.ts";
import { openSmtp } from "./smtp_server.ts";
import { openSink, type WebhookCall } from "./webhook_sink.ts";

export interface CatcherOptions {
  /** The address on which the page is served. */
  readonly listen: ListenAddress;
  /** The receiver's certificate and key, in PEM. */
  readonly cert: string;
  readonly key: string;
  /** The webhooks' signing secret. */
  readonly secret: string;
}

export interface Catcher {
  /** The page's base URL. */
  readonly url: string;
  /** The mail server's URL, for `SMTP_URL`. */
  readonly smtpUrl: string;
  /** The URL for signed webhooks. */
  readonly webhookUrl: string;
  /** The URL for the CRM recipe `webhook_json`, which does not sign. */
  readonly recipeUrl: string;
  close(): void;
}

type NewMessage =
  | Omit<Extract<CaughtMessage, { kind: "mail" }>, "id" | "at">
  | Omit<Extract<CaughtMessage, { kind: "webhook" }>, "id" | "at">;

const messagesMax = 200;

const validSignatureText = "The signature is valid for this body, timestamp and secret.";
// Standard Webhooks leaves the tolerance to the receiver; five minutes is common.
const toleranceMs = 300_000;

/** Checks a webhook's signature as a receiver should, and returns the result as a sentence. */
function checkSignature({ headers, body }: WebhookCall, secret: string): string {
  const [id = "", timestamp = "", signatures = ""] = ["webhook-id", "webhook-timestamp", "webhook-signature"]
    .map((name) => String(headers[name] ?? ""));
  if (!id || !timestamp || !signatures) return "The request is not signed.";
  const sentMs = Number(timestamp) * 1000;
  const expected = signatureHeaders(id, body, [secret], sentMs)["webhook-signature"];
  if (!signatures.split(" ").includes(expected)) {
    return "The signature is not valid for this body and secret.";
  }
  return Math.abs(Date.now() - sentMs) <= toleranceMs
    ? validSignatureText
    : "The signature is valid, but the timestamp is too far from now: a receiver would reject it.";
}

const recipePath = "/crm/";

export async function openCatcher({ listen, cert, key, secret }: CatcherOptions): Promise<Catcher> {
  const messages: CaughtMessage[] = [];
  let lastId = 0;
  const store = (message: NewMessage) => {
    lastId += 1;
    messages.unshift({ ...message, id: lastId, at: new Date() } as CaughtMessage);
    messages.length = Math.min(messages.length, messagesMax);
  };
  const pages = await openPages(listen, messages);
  const smtp = await openSmtp({ onMessage: (mail) => store({ kind: "mail", mail }) });
  const sink = await openSink({
    cert,
    key,
    onCall: (call, response) => {
      const isRecipe = call.url.startsWith(recipePath);
      const signature = isRecipe
        ? "A CRM recipe sent this; recipes do not sign."
        : checkSignature(call, secret);
      const isSignatureValid = isRecipe || signature === validSignatureText;
      store({ kind: "webhook", call, signature, isSignatureValid });
      response.writeHead(isSignatureValid ? 204 : 401).end();
    },
  });
  const { port } = pages.address() as AddressInfo;
  return {
    url: `http://${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`,
    smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
    webhookUrl: `https://127.0.0.1:${sink.port}/webhook`,
    recipeUrl: `https://127.0.0.1:${sink.port}${recipePath}${randomBytes(8).toString("hex")}`,
    close: () => {
      for (const part of [smtp, sink]) part.close();
      pages.close();
      pages.closeAllConnections();
    },
  };
}

async function openPages({ host, port }: ListenAddress, messages: readonly CaughtMessage[]): Promise<Server> {
  const server = createServer((request, response) => {
    const { status, headers, body } = respond(
      messages,
      request.method,
      request.headers.host,
      request.url ?? "/",
    );
    response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  return server;
}

// Any other Host header means DNS rebinding: another site's name resolves to this machine.
const ownHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

function respond(messages: readonly CaughtMessage[], method = "GET", host = "", path: string): Page {
  if (!ownHost.test(host)) return textPage(421, "Use 127.0.0.1 or localhost\n");
  if (!/^(GET|HEAD)$/.test(method)) return textPage(405, "This page is read-only\n");
  if (path === "/") return listPage(messages);
  if (path === "/style.css") return styleSheet();
  return messagePage(messages, path) ??
    textPage(404, "No such email or webhook, or it is no longer stored\n");
}

function messagePage(messages: readonly CaughtMessage[], path: string): Page | null {
  const [, kind, number, part] = /^\/(mail|webhook)\/(\d{1,9})(?:\/(html|source))?$/.exec(path) ?? [];
  const message = messages.find(({ id }) => id === Number(number));
  if (message === undefined || message.kind !== kind) return null;
  if (part === undefined) return renderMessage(message);
  if (message.kind !== "mail") return null;
  return part === "html" ? htmlPage(message.mail.raw) : textPage(200, message.mail.raw);
}
