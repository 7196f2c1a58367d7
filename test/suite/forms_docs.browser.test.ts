/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { atEnd } from "../support/at_end.ts";
import { faultsOfAccess } from "../support/browser/access.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { faintTexts } from "../support/browser/contrast.ts";
import { faultsOfLook } from "../support/browser/look.ts";
import { startWebsite, websiteLanguages } from "../support/docs/website.ts";
import { TestEnv } from "../support/test_env.ts";

await testWebsites();

async function testWebsites(): Promise<void> {
  const testEnv = await TestEnv.open();
  await testEnv.start();
  // The tenant of the brief's examples.
  const [row] = await testEnv.sql<{ id: number }[]>`
    insert into tenant (slug, name) values ('acme', 'Acme') returning id`;
  const { key } = await testEnv.formWithKey({ tenant: { id: row?.id as number, slug: "acme" } });
  const brief = (await testEnv.sendToForms("/v1/forms/INTEGRATION.md")).text;
  const websites = await Promise.all(websiteLanguages.map(async (language) => ({
    language,
    site: await startWebsite(language, { brief, key: key.text }),
  })));
  const browser = await startBrowser();
  atEnd(() => browser.close());

  /** Opens a page of a phone and counts its posts. */
  async function open(options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: { width: 390, height: 800 }, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const posts: string[] = [];
    page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
    return { page, posts, close: () => context.close() };
  }
  const fill = async (page: Page, fields: Record<string, string>) => {
    for (const [name, value] of Object.entries(fields)) await page.fill(`[name=${name}]`, value);
  };
  /** Presses the button and waits for the thanks page; returns the ID on it. */
  const send = async (page: Page) => {
    await page.click("button");
    await page.waitForURL(/\/thanks\?/);
    return await page.locator(".reference").innerText();
  };

  for (const { language, site } of websites) {
    const visitor = {
      email: "grace@example.com",
      phone: "(503) 555-0100",
      message: `Our roof leaks above the porch. Could you come by this week? I found you in ${language}.`,
    };

    test(`${language}: a visitor lands with a campaign, corrects an error on another page, and is sent once with the first page's campaign`, async () => {
      const { page, posts, close } = await open();
      const landing = `${site.url}/?gclid=Cj0K-1&utm_source=ads`;
      await page.goto(landing, { referer: "https://search.example/" });
      await page.getByRole("link", { name: "Get a repair quote" }).click();
      await page.getByLabel("Gutters").check();
      await fill(page, { ...visitor, name: " " });
      await page.click("button");
      await page.locator("#name[aria-invalid=true]").waitFor();
      assert.match(await page.locator("[role=alert]:focus").innerText(), /^Please fill in what is missing/);
      assert.deepEqual(
        await page.locator("[role=alert]:visible a:visible").allInnerTexts(),
        ["Your name"],
      );
      assert.equal(await page.inputValue("[name=message]"), visitor.message);
      await fill(page, { name: "Grace Hopper" });
      const before = (await testEnv.stored()).submissions;
      const id = await send(page);

      const { lead, extra } = await testEnv.event(id);
      const { form_started_at: _, ...stored } = lead;
      assert.deepEqual(stored, {
        ...visitor,
        name: "Grace Hopper",
        zip: "",
        service: "Roof repair, Gutters",
        page_url: `${site.url}/quote?service=Roof+repair&gclid=Cj0K-1&utm_source=ads`,
        landing_page: landing,
        referrer: "https://search.example/",
      });
      assert.deepEqual(JSON.parse(String(extra)).attribution, { gclid: "Cj0K-1", utm_source: "ads" });
      assert.equal((await testEnv.submission(id)).verdict, "clean");

      assert.equal(posts.length, 2);
      await page.reload();
      assert.equal(await page.locator(".reference").innerText(), id);
      assert.equal(posts.length, 2);
      assert.equal((await testEnv.stored()).submissions, before + 1);
      await close();
    });

    test(`${language}: a double click posts once, and the form works again after Back`, async () => {
      const { page, posts, close } = await open();
      await page.goto(`${site.url}/quote?utm_source=mail`, { referer: "https://mail.example/" });
      await fill(page, { ...visitor, name: "Ada Lovelace", message: `${visitor.message} Twice.` });
      await page.locator("button").scrollIntoViewIfNeeded();
      const { x, y } = await page.locator("button").boundingBox() ?? assert.fail("The button is not shown");
      const release = await testEnv.holdCommits();
      await page.mouse.dblclick(x + 9, y + 9);
      await testEnv.untilWaiting();
      // The browser joins the clicks of a double click, but posts again after a later one.
      await page.mouse.click(x + 9, y + 9);
      await release();
      await page.waitForURL(/\/thanks\?/);
      assert.equal(posts.length, 1);
      await page.goBack();
      await fill(page, { ...visitor, name: "Ada Lovelace", message: `${visitor.message} Again.` });
      const { lead, extra } = await testEnv.event(await send(page));
      assert.equal(lead.page_url, `${site.url}/quote?utm_source=mail`);
      assert.deepEqual(JSON.parse(String(extra)).attribution, { utm_source: "mail" });
      assert.equal(posts.length, 2);
      await close();
    });

    test(`${language}: the form works without JavaScript`, async () => {
      const { page, close } = await open({ javaScriptEnabled: false });
      await page.goto(`${site.url}/quote?gclid=Cj0K-2`);
      await fill(page, { ...visitor, name: " ", message: `${visitor.message} Plain.` });
      await page.click("button");
      await page.locator("#name[aria-invalid=true]").waitFor();
      await fill(page, { name: "Mary Jackson" });
      const { lead, extra } = await testEnv.event(await send(page));
      assert.deepEqual([lead.name, lead.page_url], ["Mary Jackson", `${site.url}/quote?gclid=Cj0K-2`]);
      assert.deepEqual(JSON.parse(String(extra)).attribution, { gclid: "Cj0K-2" });
      await close();
    });
  }

  // The pages are the same in each language.
  const site = websites[0]?.site ?? assert.fail("No website runs here");
  for (
    const [width, colorScheme] of [[320, "dark"], [390, "light"], [768, "dark"], [1280, "light"]] as const
  ) {
    test(`at ${width} pixels in ${colorScheme} nothing overflows, everything is readable, and no input is under 16 pixels`, async () => {
      const { page, close } = await open({ viewport: { width, height: 800 }, colorScheme });
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("requestfailed", (request) => complaints.push(request.url()));
      const look = async (about: string) => {
        assert.deepEqual(await page.evaluate(smallInputs), [], about);
        // The honeypot is outside the page, but rendered, because bots skip what is not.
        await page.evaluate(() => document.querySelector(".off-screen")?.remove());
        assert.deepEqual(await page.evaluate(faultsOfLook, { targetMin: 24 }), [], about);
        assert.deepEqual(await page.evaluate(faintTexts), [], about);
        assert.deepEqual(await page.evaluate(faultsOfAccess), [], about);
      };
      for (const path of ["/", "/quote", "/privacy", `/thanks?reference=${"0".repeat(60)}`, "/none"]) {
        await page.goto(site.url + path);
        await look(path);
      }
      await page.goto(`${site.url}/quote`);
      await fill(page, { name: " ", email: "grace@example.com" });
      await page.click("button");
      await page.locator("#name[aria-invalid=true]").waitFor();
      await look("an error");
      assert.deepEqual(complaints, []);
      await close();
    });
  }
}

/** Returns the inputs with text under 16 pixels, on which iOS zooms, and those without a label. */
function smallInputs(): string[] {
  return [...document.querySelectorAll<HTMLInputElement>("input:not([type=hidden]), textarea")]
    .filter((input) => Number.parseFloat(getComputedStyle(input).fontSize) < 16 || input.labels?.length !== 1)
    .map((input) => input.outerHTML);
}
