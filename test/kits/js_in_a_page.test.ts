/// <reference lib="dom" />

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { relay } from "../../kits/js/src/relay.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { atEnd } from "../support/at_end.ts";
import { until } from "../support/until.ts";

await testPages();

/** A post as it came to the intake. */
interface Post {
  readonly key: string;
  readonly lead: Record<string, unknown>;
  readonly apiKey: string;
}

/** What the pages keep for the test. */
interface Told {
  answers: unknown[];
  states: string[];
}

async function testPages(): Promise<void> {
  const apiKey = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";
  const posts: Post[] = [];
  /** The leads by idempotency key, as the intake keeps them. */
  const leads = new Map<string, Post>();
  /** What an answer waits for, and whether they are lost on the way back. */
  let gate: Promise<void> = Promise.resolve();
  let answersLost = false;

  const intake = await listen(async (request, response) => {
    const post = {
      key: String(request.headers["idempotency-key"]),
      apiKey: String(request.headers["x-api-key"]),
      lead: JSON.parse(await textOf(request)),
    };
    posts.push(post);
    const known = leads.has(post.key);
    if (post.lead.phone === "") {
      return answer(response, 422, { error: "validation_failed", fields: { phone: "required" } });
    }
    if (!known) leads.set(post.key, post);
    await gate;
    answer(response, known ? 200 : 202, {
      event_id: `evt_${post.key}`,
      status: known ? "duplicate" : "accepted",
      received_at: "2026-09-03T10:00:00Z",
      source: "upstream detail",
      flags: [],
    });
  });

  const bundle = await build({
    entryPoints: [fileURLToPath(new URL("../../kits/js/src/page.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    write: false,
  });
  const site = await listen((request, response) => {
    if (request.url === "/page.js") {
      return send(response, "text/javascript", bundle.outputFiles[0]?.text ?? "");
    }
    send(response, "text/html", pageText(relayServer.url));
  });

  const handle = relay({
    key: apiKey,
    baseUrl: intake.url,
    origins: [site.url],
    fields: ["first_name", "last_name", "phone"],
    namespace: "www",
  });
  const relayServer = await listen(async (request, response) => {
    const body = await textOf(request);
    const result = await handle(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
        ...(body === "" ? {} : { body }),
      }),
    );
    if (request.method === "POST" && answersLost) return void response.destroy();
    response.writeHead(result.status, Object.fromEntries(result.headers));
    response.end(await result.text());
  });

  const browser: Browser = await startBrowser();
  atEnd(() => browser.close());
  const context: BrowserContext = await browser.newContext();
  context.setDefaultTimeout(60_000);
  /** All that the browser got, and what it kept. */
  const received: string[] = [];
  context.on("response", async (response) => {
    const body = await response.text().catch(() => "");
    received.push(
      `${response.url()} ${JSON.stringify(await response.allHeaders().catch(() => ({})))} ${body}`,
    );
  });

  beforeEach(() => {
    posts.length = 0;
    leads.clear();
    gate = Promise.resolve();
    answersLost = false;
  });

  async function open(hash = ""): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`${site.url}/${hash}`);
    return page;
  }

  async function fill(page: Page, form: string, phone = "+14155550100"): Promise<void> {
    await page.fill(`#${form} [name=first_name]`, "Ada");
    await page.fill(`#${form} [name=last_name]`, "Lovelace");
    await page.fill(`#${form} [name=phone]`, phone);
  }

  /** What the intake has. */
  const phones = () => [...leads.values()].map(({ lead }) => lead.phone).sort();
  const click = (page: Page, form: string) => page.click(`#${form} button`);
  const told = (page: Page): Promise<Told> =>
    page.evaluate(() => (globalThis as unknown as { told: Told }).told);
  /** What the page has been answered, once there are as many. */
  const answers = (page: Page, count: number) =>
    until(async () => {
      const { answers } = await told(page);
      return answers.length >= count ? answers : null;
    });
  const postsMade = (count: number) => until(() => posts.length >= count, { what: `${count} posts` });
  function holdAnswers(): () => void {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  test("a form's lead reaches the intake with the relay's key", async () => {
    const page = await open();
    await fill(page, "contact");
    await click(page, "contact");
    assert.deepEqual(await answers(page, 1), [{ status: "accepted" }]);
    assert.deepEqual(posts.map(({ apiKey: key, lead }) => [key, lead]), [
      [apiKey, { first_name: "Ada", last_name: "Lovelace", phone: "+14155550100" }],
    ]);
    assert.match(posts[0]?.key ?? "", /^www:[0-9a-f]{32}$/);
    await page.close();
  });

  test("a double click is one post, and both clicks get its answer", async () => {
    const page = await open();
    await fill(page, "contact");
    const release = holdAnswers();
    await page.dblclick("#contact button");
    await postsMade(1);
    await click(page, "contact");
    release();
    assert.deepEqual(await answers(page, 3), Array(3).fill({ status: "accepted" }));
    assert.equal(posts.length, 1);
    // A click that comes late is a duplicate, too.
    await click(page, "contact");
    assert.deepEqual((await answers(page, 4))[3], { status: "duplicate" });
    assert.equal(leads.size, 1);
    await page.close();
  });

  test("a reload while the lead is under way keeps its key", async () => {
    const page = await open();
    await fill(page, "contact");
    const release = holdAnswers();
    await click(page, "contact");
    await postsMade(1);
    await page.reload();
    release();
    await fill(page, "contact");
    await click(page, "contact");
    assert.deepEqual(await answers(page, 1), [{ status: "duplicate" }]);
    assert.equal(leads.size, 1);
    await page.close();
  });

  test("what is wrong is told, and the corrected form is one lead", async () => {
    const page = await open();
    await fill(page, "contact", "");
    await click(page, "contact");
    assert.deepEqual(await answers(page, 1), [{ status: "invalid", fields: { phone: "required" } }]);
    await fill(page, "contact");
    await click(page, "contact");
    assert.deepEqual((await answers(page, 2))[1], { status: "accepted" });
    assert.deepEqual(phones(), ["+14155550100"]);
    await page.close();
  });

  test("offline it waits, and goes on when the browser is back", async () => {
    const page = await open();
    await fill(page, "contact");
    await context.setOffline(true);
    await click(page, "contact");
    await until(async () => (await told(page)).states.includes("offline"));
    assert.equal(posts.length, 0);
    await context.setOffline(false);
    assert.deepEqual(await answers(page, 1), [{ status: "accepted" }]);
    assert.equal(posts.length, 1);
    await page.close();
  });

  test("an answer that is lost on its way is asked for again, and doubles nothing", async () => {
    const page = await open();
    await fill(page, "contact");
    // A browser asks again by itself when a connection that it kept is cut: all is lost until the page sees it.
    answersLost = true;
    await click(page, "contact");
    await until(async () => (await told(page)).states.includes("waiting"));
    answersLost = false;
    assert.deepEqual(await answers(page, 1), [{ status: "duplicate" }]);
    assert.equal(leads.size, 1);
    await page.close();
  });

  test("no key, and nothing of the intake, is in anything that the browser got or keeps", async () => {
    const page = await open();
    await fill(page, "contact");
    await click(page, "contact");
    await answers(page, 1);
    await until(() => received.some((text) => text.includes('"accepted"')));
    const kept = await page.evaluate(() =>
      JSON.stringify([
        { ...sessionStorage },
        { ...localStorage },
        document.cookie,
        document.documentElement.outerHTML,
      ])
    );
    const all = received.join("\n") + kept;
    for (
      const secret of [apiKey, "lead_test_", "lead_live_", intake.url, "upstream detail", "evt_", "www:"]
    ) {
      assert.ok(!all.includes(secret), secret);
    }
    assert.ok(!kept.replace(/<script[\s\S]*/, "").includes("Lovelace"));
    await page.close();
  });
}

/** A page with two forms, which keeps what it is told. */
function pageText(relayUrl: string): string {
  const form = (id: string) =>
    `<form id="${id}"><input name="first_name"><input name="last_name"><input name="phone"><button>Send</button></form>`;
  return `<!doctype html><title>Forms</title>${form("contact")}${form("quote")}
<script type="module">
import { send } from "/page.js";
globalThis.told = { answers: [], states: [] };
for (const form of document.forms) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    told.answers.push(await send(${
    JSON.stringify(relayUrl)
  }, form, { onState: (state) => told.states.push(state) }));
  });
}
</script>`;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A server on 127.0.0.1 that stops after the tests. */
async function listen(handler: Handler): Promise<{ readonly url: string }> {
  const server: Server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

function send(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { "content-type": `${type}; charset=utf-8` });
  response.end(text);
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
