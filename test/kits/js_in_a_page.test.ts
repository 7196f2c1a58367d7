/// <reference lib="dom" />

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { relay } from "../../kits/js/src/relay.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { atEnd } from "../support/at_end.ts";
import { listen } from "../support/listen.ts";
import { until } from "../support/until.ts";

await testPages();

/** A post that the intake received. */
interface Post {
  readonly key: string;
  readonly lead: Record<string, unknown>;
  readonly apiKey: string;
}

/** What a page records for the test. */
interface Recorded {
  answers: unknown[];
  states: string[];
}

async function testPages(): Promise<void> {
  const apiKey = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";
  const posts: Post[] = [];
  /** The intake's leads by idempotency key. */
  const leads = new Map<string, Post>();
  /** What responses wait for, and whether the relay drops them. */
  let gate: Promise<void> = Promise.resolve();
  let answersLost = false;

  const intake = await serve(async (request, response) => {
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
  const site = await serve((request, response) => {
    if (request.url === "/page.js") {
      return send(response, "text/javascript", bundle.outputFiles[0]?.text ?? "");
    }
    send(response, "text/html", pageText(relayUrl));
  });

  const handle = relay({
    key: apiKey,
    baseUrl: intake,
    origins: [site],
    fields: ["first_name", "last_name", "phone"],
    namespace: "www",
  });
  const relayUrl = await serve(async (request, response) => {
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
  /** Everything that the browser received. */
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

  async function fill(page: Page, phone = "+14155550100"): Promise<void> {
    await page.fill("[name=first_name]", "Ada");
    await page.fill("[name=last_name]", "Lovelace");
    await page.fill("[name=phone]", phone);
  }

  /** Opens the page and fills its form. */
  async function filled(phone?: string): Promise<Page> {
    const page = await context.newPage();
    await page.goto(site);
    await fill(page, phone);
    return page;
  }
  afterEach(() => Promise.all(context.pages().map((page) => page.close())));

  /** Returns the phones of the intake's leads. */
  const phones = () => [...leads.values()].map(({ lead }) => lead.phone).sort();
  const click = (page: Page) => page.click("button");
  const recorded = (page: Page): Promise<Recorded> =>
    page.evaluate(() => (globalThis as unknown as { recorded: Recorded }).recorded);
  /** Waits for `count` results of the page and returns them. */
  const answers = (page: Page, count: number) =>
    until(async () => {
      const { answers } = await recorded(page);
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
    const page = await filled();
    await click(page);
    assert.deepEqual(await answers(page, 1), [{ status: "accepted" }]);
    assert.deepEqual(posts.map(({ apiKey: key, lead }) => [key, lead]), [
      [apiKey, { first_name: "Ada", last_name: "Lovelace", phone: "+14155550100" }],
    ]);
    assert.match(posts[0]?.key ?? "", /^www:[0-9a-f]{32}$/);
  });

  test("a double click is one post, and both clicks get its result", async () => {
    const page = await filled();
    const release = holdAnswers();
    await page.dblclick("button");
    await postsMade(1);
    await click(page);
    release();
    assert.deepEqual(await answers(page, 3), Array(3).fill({ status: "accepted" }));
    assert.equal(posts.length, 1);
    // A later click is a duplicate.
    await click(page);
    assert.deepEqual((await answers(page, 4))[3], { status: "duplicate" });
    assert.equal(leads.size, 1);
  });

  test("a reload while the lead is in flight keeps its key", async () => {
    const page = await filled();
    const release = holdAnswers();
    await click(page);
    await postsMade(1);
    await page.reload();
    release();
    await fill(page);
    await click(page);
    assert.deepEqual(await answers(page, 1), [{ status: "duplicate" }]);
    assert.equal(leads.size, 1);
  });

  test("failing fields are reported, and the corrected form is one lead", async () => {
    const page = await filled("");
    await click(page);
    assert.deepEqual(await answers(page, 1), [{ status: "invalid", fields: { phone: "required" } }]);
    await fill(page);
    await click(page);
    assert.deepEqual((await answers(page, 2))[1], { status: "accepted" });
    assert.deepEqual(phones(), ["+14155550100"]);
  });

  test("an offline page waits and sends when the browser is online", async () => {
    const page = await filled();
    await context.setOffline(true);
    await click(page);
    await until(async () => (await recorded(page)).states.includes("offline"));
    assert.equal(posts.length, 0);
    await context.setOffline(false);
    assert.deepEqual(await answers(page, 1), [{ status: "accepted" }]);
    assert.equal(posts.length, 1);
  });

  test("a lost response is retried without doubling the lead", async () => {
    const page = await filled();
    // A browser retries a closed keep-alive connection, so responses stay lost until the page reports it.
    answersLost = true;
    await click(page);
    await until(async () => (await recorded(page)).states.includes("waiting"));
    answersLost = false;
    assert.deepEqual(await answers(page, 1), [{ status: "duplicate" }]);
    assert.equal(leads.size, 1);
  });

  test("the browser receives and stores no key and nothing of the intake", async () => {
    const page = await filled();
    await click(page);
    await answers(page, 1);
    await until(() => received.some((text) => text.includes('"accepted"')));
    const stored = await page.evaluate(() =>
      JSON.stringify([
        { ...sessionStorage },
        { ...localStorage },
        document.cookie,
        document.documentElement.outerHTML,
      ])
    );
    const all = received.join("\n") + stored;
    for (
      const secret of [apiKey, "lead_test_", "lead_live_", intake, "upstream detail", "evt_", "www:"]
    ) {
      assert.ok(!all.includes(secret), secret);
    }
    assert.ok(!stored.replace(/<script[\s\S]*/, "").includes("Lovelace"));
  });
}

/** Returns a page with a form that records its results. */
function pageText(relayUrl: string): string {
  return `<!doctype html><title>Form</title>
<form><input name="first_name"><input name="last_name"><input name="phone"><button>Send</button></form>
<script type="module">
import { send } from "/page.js";
globalThis.recorded = { answers: [], states: [] };
const [form] = document.forms;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const onState = (state) => recorded.states.push(state);
  recorded.answers.push(await send(${JSON.stringify(relayUrl)}, form, { onState }));
});
</script>`;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Starts a server and returns its address. */
async function serve(handler: Handler): Promise<string> {
  const server = createServer((request, response) => void handler(request, response));
  return `http://127.0.0.1:${await listen(server)}`;
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
