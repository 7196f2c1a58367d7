/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { startBrowser } from "../support/browser/browser.ts";
import { faultsOfAccess } from "../support/browser/access.ts";
import { faultsOfLook } from "../support/browser/look.ts";
import { faintTexts } from "../support/browser/contrast.ts";
import { startServer } from "../support/server.ts";
import { gutterCare, planEntry, SiteTestEnv } from "../support/site/site.ts";
import { atEnd } from "../support/at_end.ts";

await testLook();

/** One page of each kind, including those with the widest tables and the longest words. */
const kinds = [
  "/",
  "/intake/",
  "/intake/envelope/",
  "/intake/responses/",
  "/intake/client/",
  "/forms/",
  "/plans/",
  "/plans/feed/",
  "/areas/",
  "/areas/crawl-space/",
  `/areas/${"x".repeat(60)}/`,
  "/services/",
  "/services/repair/",
  "/kits/",
  "/glossary/",
  "/faq/",
  "/site-data/",
  "/search/?q=idempotency",
  "/404.html",
];

async function testLook(): Promise<void> {
  const testEnv = await SiteTestEnv.open();
  const long = "x".repeat(90);
  await testEnv.add(long);
  await testEnv.put(
    gutterCare,
    planEntry({
      slug: "long",
      name: long,
      customer: long,
      amount_cents: 123_456_789,
      interval: "year",
      items: [{ title: long, detail: long.repeat(3) }],
    }),
  );
  const site = await testEnv.build("site");
  const server = await startServer({ databaseUrl: testEnv.url, env: { SITE_DIR: site.dir } });
  const url = server.urls.site ?? "";
  const browser = await startBrowser();
  atEnd(() => browser.close());

  async function visit(options: BrowserContextOptions, look: (page: Page, path: string) => Promise<void>) {
    const context = await browser.newContext({ javaScriptEnabled: true, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    for (const path of kinds) {
      await page.goto(url + path);
      await look(page, path);
    }
    await context.close();
    // The browser itself logs the 404 page.
    assert.deepEqual(complaints.filter((text) => !/status of 404/.test(text)), []);
  }

  test("the service serves every page and its Markdown, and a 404 page for other paths", async () => {
    for (const [path, html] of site.pages) {
      const answer = await fetch(url + path);
      assert.equal(answer.status, path === "/404.html" ? 404 : 200, path);
      assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(await answer.text(), html, path);
      if (path === "/404.html" || path === "/search/") continue;
      const markdown = await fetch(`${url}${path}index.html.md`);
      assert.match(markdown.headers.get("content-type") ?? "", /^text\/markdown/);
      assert.equal(await markdown.text(), site.text(`${path.slice(1)}index.html.md`));
    }
    const missing = await fetch(`${url}/areas/moat/`);
    assert.equal(missing.status, 404);
    assert.equal(await missing.text(), site.text("404.html"));
    const data = await fetch(`${url}/assets/site.data`);
    assert.equal(data.headers.get("content-type"), "application/vnd.sqlite3");
    assert.deepEqual(Buffer.from(await data.arrayBuffer()), site.bytes("assets/site.data"));
  });

  for (
    const [width, colorScheme] of [[320, "light"], [390, "dark"], [768, "light"], [1280, "dark"]] as const
  ) {
    test(`at ${width} pixels in ${colorScheme} nothing overflows, and everything is readable and reachable by keyboard`, async () => {
      await visit({ viewport: { width, height: 800 }, colorScheme }, async (page, path) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, path);
        assert.deepEqual(await page.evaluate(scrolledCommands), [], path);
        assert.deepEqual(await page.evaluate(faintTexts), [], path);
        assert.deepEqual(await page.evaluate(faultsOfAccess), [], path);
      });
    });
  }

  test("each code block has a copy button that covers nothing, and none without JavaScript", async () => {
    const context = await browser.newContext({
      viewport: { width: 390, height: 800 },
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    await page.goto(`${url}/intake/client/`);
    const blocks = await page.locator("pre").count();
    assert.ok(blocks > 5);
    assert.equal(await page.locator("button.copy").count(), blocks);
    await page.getByRole("button", { name: "Copy Python" }).press("Enter");
    await page.getByRole("status").filter({ hasText: /^Copied$/ }).waitFor({ state: "attached" });
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, (await page.locator("pre.language-python").textContent())?.trimEnd());
    assert.deepEqual(await page.evaluate(faultsOfLook, { targetMin: 0 }), []);
    await context.close();
    const plain = await browser.newPage({ javaScriptEnabled: false });
    await plain.goto(`${url}/intake/client/`);
    assert.equal(await plain.locator("button.copy").count(), 0);
    await plain.close();
  });
}

/** Returns the commands that need horizontal scrolling. */
function scrolledCommands(): string[] {
  return [...document.querySelectorAll("pre")]
    .filter((block) => /^\s*curl /.test(block.textContent ?? "") && block.scrollWidth > block.clientWidth)
    .map((block) => (block.textContent ?? "").slice(0, 60));
}
