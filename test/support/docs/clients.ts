/** Runs the brief's clients as programs, against a proxy with scripted responses. */

import { writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { type ClientLanguage, clients } from "../../../src/documents/clients.ts";
import { temporaryFolder } from "../folder.ts";
import { listen } from "../listen.ts";
import { type Ran, runTool } from "../tool.ts";
import { until } from "../until.ts";

/** The command of each client; warnings of the language are printed or fail. */
const commands: Readonly<Record<ClientLanguage, string>> = {
  TypeScript: `${JSON.stringify(process.execPath)} send.ts`,
  Python: "python3 -B -W error send_lead.py",
  Go: 'test -z "$(gofmt -l .)" && go vet send_lead.go && go build -o send_lead send_lead.go && ./send_lead',
  PHP: "php -d error_reporting=-1 -d display_errors=stderr send_lead.php",
  Ruby: "ruby -w send_lead.rb",
};

/** Runs a language's client as a caller would; `edit` may change its text first. */
export function runClient(
  language: ClientLanguage,
  options: { readonly baseUrl: string; readonly key: string; readonly edit?: (text: string) => string },
): Promise<Ran> {
  const { baseUrl, key, edit = (text: string) => text } = options;
  const folder = temporaryFolder("client");
  for (const text of clients[language].files(baseUrl)) {
    const [name = ""] = /\w+\.\w+(?=: for|: run)/.exec(text) ?? [];
    writeFileSync(join(folder, name), edit(text));
  }
  return runTool(["sh", "-c", commands[language]], {
    cwd: folder,
    env: { LEADS_API_KEY: key, GOPROXY: "off" },
  });
}

/** A scripted response; `null` cuts the connection. */
export type Scripted = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
} | null;

/** A request received by the proxy. */
export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
}

/** Sends the scripted responses first and then forwards requests to the service at `serviceUrl`. */
export async function openFront(
  serviceUrl: string,
  answers: readonly Scripted[],
): Promise<{ readonly url: string; readonly asked: readonly Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const scripted = answers[asked.length];
    asked.push({ headers: request.headers, body, atMs: performance.now() });
    if (scripted === null) return request.socket.destroy();
    if (scripted !== undefined) {
      return response.writeHead(scripted.status, { ...scripted.headers }).end(scripted.body ?? "{}");
    }
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = request.headers;
    // On a busy machine, the service may refuse a post for a moment; the tests count only retries after scripted responses.
    const answer = await until(async () => {
      const { method = "GET", url } = request;
      const received = await fetch(serviceUrl + url, {
        method,
        headers: headers as Record<string, string>,
        body,
      });
      return received.status !== 503 && received;
    });
    response.writeHead(answer.status, {
      "Content-Type": "application/json",
      "X-Request-Id": answer.headers.get("X-Request-Id") ?? "",
    }).end(await answer.text());
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, asked };
}
