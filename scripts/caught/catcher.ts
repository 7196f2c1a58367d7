/**
 * A mail server and a receiver of webhooks for development, with a page that shows what they were sent. Everything
 * listens on this machine only.
 *
 * @module
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "../../src/settings/reader.ts";
import { caughtPage, htmlPage, listPage, type Page, styleSheet, textPage } from "./pages.ts";
import { Shelf } from "./shelf.ts";
import { checkSignature } from "./signature.ts";
import { openSmtp } from "./smtp_server.ts";
import { openSink } from "./webhook_sink.ts";

/** How to open one. */
export interface CatcherOptions {
  /** Where the page listens. */
  readonly listen: ListenAddress;
  /** The receiver's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** What the webhooks are signed with. */
  readonly secret: string;
}

/** One that listens. */
export interface Catcher {
  /** The base address of the page. */
  readonly url: string;
  /** For `SMTP_URL`. */
  readonly smtpUrl: string;
  /** Where webhooks are taken. */
  readonly webhookUrl: string;
  close(): void;
}

/** Opens one. */
export async function openCatcher({ listen, cert, key, secret }: CatcherOptions): Promise<Catcher> {
  const shelf = new Shelf();
  const pages = await openPages(listen, shelf);
  const smtp = await openSmtp({ onMessage: (mail) => shelf.add({ kind: "mail", mail }) });
  const sink = await openSink({
    cert,
    key,
    onCall: (call, response) => {
      const { text, isGenuine } = checkSignature(call, { secret, nowMs: Date.now() });
      shelf.add({ kind: "webhook", call, signature: text, isGenuine });
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

async function openPages({ host, port }: ListenAddress, shelf: Shelf): Promise<Server> {
  const server = createServer((request, response) => {
    const { status, headers, body } = answer(shelf, request.method, request.headers.host, request.url ?? "/");
    response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
  });
  await new Promise<void>((settle, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, settle);
  });
  return server;
}

// Another name would be a web site that has its name point here, to read along.
const ownHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

function answer(shelf: Shelf, method = "GET", host = "", path: string): Page {
  if (!ownHost.test(host)) return textPage(421, "Ask for 127.0.0.1 or localhost\n");
  if (!/^(GET|HEAD)$/.test(method)) return textPage(405, "There is nothing to change here\n");
  if (path === "/") return listPage(shelf.all);
  if (path === "/style.css") return styleSheet();
  return pageOf(shelf, path) ?? textPage(404, "There is no such mail or webhook any more\n");
}

function pageOf(shelf: Shelf, path: string): Page | null {
  const [, kind, number, part] = /^\/(mail|webhook)\/(\d{1,9})(?:\/(html|source))?$/.exec(path) ?? [];
  const caught = shelf.find(Number(number));
  if (caught === undefined || caught.kind !== kind) return null;
  if (part === undefined) return caughtPage(caught);
  if (caught.kind !== "mail") return null;
  return part === "html" ? htmlPage(caught.mail.raw) : textPage(200, caught.mail.raw);
}
