/**
 * A mail server and a webhook receiver for development, with a page that shows what they received. Everything listens on
 * this machine only.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { signatureHeaders } from "../../src/actions/destinations.ts";
import type { ListenAddress } from "../../src/settings/reader.ts";
import { type Caught, caughtPage, htmlPage, listPage, type Page, styleSheet, textPage } from "./pages.ts";
import { openSmtp } from "./smtp_server.ts";
import { openSink, type WebhookCall } from "./webhook_sink.ts";

/** How to open a catcher. */
export interface CatcherOptions {
  /** The page's address. */
  readonly listen: ListenAddress;
  /** The receiver's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** The webhooks' signing secret. */
  readonly secret: string;
}

/** A listening catcher. */
export interface Catcher {
  /** The page's base URL. */
  readonly url: string;
  /** For `SMTP_URL`. */
  readonly smtpUrl: string;
  /** The URL for webhooks. */
  readonly webhookUrl: string;
  close(): void;
}

type Arrival =
  | Omit<Extract<Caught, { kind: "mail" }>, "id" | "at">
  | Omit<Extract<Caught, { kind: "webhook" }>, "id" | "at">;

const countMax = 200;

const genuine = "The signature is valid for this body, timestamp and secret.";
// Standard Webhooks leaves the tolerance to the receiver; five minutes is common.
const toleranceMs = 300_000;

/** Checks the signature as a receiver does and returns the result as a sentence. */
function checkSignature({ headers, body }: WebhookCall, secret: string): string {
  const [id = "", timestamp = "", signatures = ""] = ["webhook-id", "webhook-timestamp", "webhook-signature"]
    .map((name) => String(headers[name] ?? ""));
  if (!id || !timestamp || !signatures) return "It is not signed.";
  const sentMs = Number(timestamp) * 1000;
  const expected = signatureHeaders(id, body, [secret], sentMs)["webhook-signature"];
  if (!signatures.split(" ").includes(expected)) {
    return "The signature is not valid for this body and secret.";
  }
  return Math.abs(Date.now() - sentMs) <= toleranceMs
    ? genuine
    : "The signature is valid, but the timestamp is too far from now: a receiver rejects it.";
}

/** Opens a catcher. */
export async function openCatcher({ listen, cert, key, secret }: CatcherOptions): Promise<Catcher> {
  const all: Caught[] = [];
  let last = 0;
  const keep = (arrival: Arrival) => {
    last += 1;
    all.unshift({ ...arrival, id: last, at: new Date() } as Caught);
    all.length = Math.min(all.length, countMax);
  };
  const pages = await openPages(listen, all);
  const smtp = await openSmtp({ onMessage: (mail) => keep({ kind: "mail", mail }) });
  const sink = await openSink({
    cert,
    key,
    onCall: (call, response) => {
      const signature = checkSignature(call, secret);
      const isGenuine = signature === genuine;
      keep({ kind: "webhook", call, signature, isGenuine });
      response.writeHead(isGenuine ? 204 : 401).end();
    },
  });
  const { port } = pages.address() as AddressInfo;
  return {
    url: `http://${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`,
    smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
    webhookUrl: `https://127.0.0.1:${sink.port}/webhook`,
    close: () => {
      for (const part of [smtp, sink]) part.close();
      pages.close();
      pages.closeAllConnections();
    },
  };
}

async function openPages({ host, port }: ListenAddress, all: readonly Caught[]): Promise<Server> {
  const server = createServer((request, response) => {
    const { status, headers, body } = answer(all, request.method, request.headers.host, request.url ?? "/");
    response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((settle, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, settle);
  });
  return server;
}

// Another Host header means DNS rebinding: a web site's name that points here.
const ownHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

function answer(all: readonly Caught[], method = "GET", host = "", path: string): Page {
  if (!ownHost.test(host)) return textPage(421, "Use 127.0.0.1 or localhost\n");
  if (!/^(GET|HEAD)$/.test(method)) return textPage(405, "This page is read-only\n");
  if (path === "/") return listPage(all);
  if (path === "/style.css") return styleSheet();
  return pageOf(all, path) ?? textPage(404, "No such mail or webhook, or it is no longer kept\n");
}

function pageOf(all: readonly Caught[], path: string): Page | null {
  const [, kind, number, part] = /^\/(mail|webhook)\/(\d{1,9})(?:\/(html|source))?$/.exec(path) ?? [];
  const caught = all.find(({ id }) => id === Number(number));
  if (caught === undefined || caught.kind !== kind) return null;
  if (part === undefined) return caughtPage(caught);
  if (caught.kind !== "mail") return null;
  return part === "html" ? htmlPage(caught.mail.raw) : textPage(200, caught.mail.raw);
}
