/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import { navigation } from "../../../src/ops/console/router.ts";
import { atEnd } from "../../support/at_end.ts";
import { startBrowser } from "../../support/browser/browser.ts";
import { faintTexts } from "../../support/browser/contrast.ts";
import { faultsOfLook } from "../../support/browser/look.ts";
import { crowd } from "../../support/console/crowd.ts";
import { ConsoleStage } from "../../support/console/stage.ts";

await testLook();

async function testLook(): Promise<void> {
  const stage = await ConsoleStage.open();
  const { dead, held, delivered, collision, returned, suspended } = await crowd(
    stage.testEnv.sql,
    stage.server.url,
  );
  const browser = await startBrowser();
  atEnd(() => browser.close());
  const statement = `/statement?tenant=acme&month=${new Date().toISOString().slice(0, 7)}`;
  const pages = [
    ...navigation.map(({ path }) => path),
    "/?range=24h",
    "/?range=7d",
    "/?range=30d",
    `/leads/${dead}`,
    `/leads/${held}`,
    `/leads/${delivered}`,
    `/leads/${returned}`,
    statement,
    "/statement",
    "/statement?month=nov",
    "/dead/replay-all",
    "/held?tenant=mizrahi",
    "/tenants/acme",
    `/tenants/${suspended}`,
    "/tenants/idle",
    `/collisions/${collision}`,
    "/leads/nosuchevent",
    "/leads?email=503-555-0100",
    "/find?q=503-555-0100",
    "/audit?tenant=acme&subject=nobody",
    "/leads?since=yesterday",
  ];

  const looks = [
    { width: 360, colorScheme: "light", targetMin: 44 },
    { width: 390, colorScheme: "light", targetMin: 44 },
    { width: 390, colorScheme: "dark", targetMin: 44 },
    { width: 768, colorScheme: "light", targetMin: 24 },
    { width: 1280, colorScheme: "light", targetMin: 24 },
    { width: 1280, colorScheme: "dark", targetMin: 24 },
  ] as const;
  for (const { width, colorScheme, targetMin } of looks) {
    test(`at ${width} pixels in ${colorScheme}, nothing is cut off, covered, squeezed or faint on any page`, async () => {
      // The page's policy would block the test's own script.
      const context = await browser.newContext({
        javaScriptEnabled: false,
        bypassCSP: true,
        colorScheme,
        viewport: { width, height: 800 },
      });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      for (const path of pages) {
        await page.goto(stage.url + path);
        await page.evaluate(() =>
          document.querySelectorAll("main details").forEach((one) => one.setAttribute("open", ""))
        );
        assert.deepEqual(await page.evaluate(faultsOfLook, { targetMin }), [], path);
        assert.deepEqual(await page.evaluate(faintTexts), [], path);
      }
      await context.close();
    });
  }

  test("no badge and no route's name breaks inside a word at any width, even in a wide font", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, bypassCSP: true });
    const page = await context.newPage();
    for (
      const path of [
        "/leads",
        "/held",
        "/collisions",
        "/dead",
        "/forms",
        "/tenants/acme",
        `/tenants/${suspended}`,
      ]
    ) {
      await page.goto(stage.url + path);
      await page.evaluate(() => {
        const style = document.head.appendChild(document.createElement("style"));
        style.textContent = "* { font-family: 'DejaVu Sans', sans-serif !important; }";
      });
      for (const width of [360, 390, 480, 600, 768, 899, 900, 1024, 1280, 1600, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await page.evaluate(brokenWords), [], `${path} at ${width}`);
      }
    }
    await context.close();
  });

  test("a statement prints on A4 and Letter: its content only, nothing cut off, in one page", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(stage.url + statement);
    await page.emulateMedia({ media: "print" });
    for (const [format, widthMm] of [["A4", 210], ["Letter", 215.9]] as const) {
      // The paper without its margins, in CSS pixels.
      await page.setViewportSize({ width: Math.floor((widthMm - 30) * 96 / 25.4), height: 900 });
      assert.deepEqual(await page.evaluate(faultsOfLook, { targetMin: 0 }), [], format);
      assert.equal(await page.getByRole("heading", { name: /^Statement for/ }).isVisible(), true);
      assert.equal(await page.getByRole("columnheader", { name: "Net" }).isVisible(), true);
      for (const hidden of ["header", "main form", ".screen"]) {
        assert.equal(await page.locator(hidden).first().isVisible(), false, hidden);
      }
      const pdf = (await page.pdf({ format, preferCSSPageSize: false })).toString("latin1");
      assert.equal(pdf.match(/\/Type \/Page\b/g)?.length, 1, format);
    }
    await context.close();
  });

  test("on a phone the menu is one line until opened, and then reaches every page", async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 800 },
    });
    const page = await context.newPage();
    await page.goto(`${stage.url}/dead`);
    const header = await page.locator("header").boundingBox();
    assert.ok(header !== null && header.height <= 64, `${header?.height}`);
    await page.getByRole("searchbox").waitFor();
    await page.getByText("Menu: Dead").click();
    await page.getByRole("link", { name: /^Collisions/ }).click();
    await page.getByRole("heading", { name: "Collisions" }).waitFor();
    await context.close();
  });

  test("on a phone a card opens its lead wherever it is pressed, and the bar of buttons is one line over the list", async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 800 },
    });
    const page = await context.newPage();
    for (const path of ["/leads", "/tenants/acme"]) {
      await page.goto(stage.url + path);
      const card = page.locator(".cards tbody tr").first();
      const { width = 0, height = 0 } = await card.boundingBox() ?? {};
      await card.click({ position: { x: width - 5, y: height - 5 } });
      await page.getByRole("heading", { level: 1, name: /^(Lead|Submission) / }).waitFor();
    }
    await page.goto(`${stage.url}/leads`);
    await page.locator(".cards").getByRole("link", { name: "acme" }).first().click();
    await page.getByRole("heading", { level: 1, name: "acme" }).waitFor();
    await page.goto(`${stage.url}/held`);
    const bar = await page.locator(".bar").boundingBox();
    assert.ok(bar !== null && bar.height <= 64, `${bar?.height}`);
    await context.close();
  });

  test("on a phone each cell of a table row is labelled with its column", async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 800 },
    });
    const page = await context.newPage();
    for (const path of pages) {
      await page.goto(stage.url + path);
      for (const table of await page.getByRole("table").all()) {
        const heads = await table.getByRole("columnheader").count();
        const row = table.getByRole("row").nth(1);
        assert.equal(await row.getByRole("cell").count(), heads, path);
        const labels = await row.getByRole("cell").evaluateAll((cells) =>
          cells.map((cell) => cell.getAttribute("data-label"))
        );
        assert.deepEqual(labels, await table.getByRole("columnheader").allTextContents(), path);
      }
    }
    await context.close();
  });
}

/** Returns the words of at most 30 characters that wrap, in badges and in the names of routes. */
function brokenWords(): string[] {
  return [...document.querySelectorAll(".badge:not(.long), .words")].flatMap((badge) => {
    const walker = document.createTreeWalker(badge, NodeFilter.SHOW_TEXT);
    const broken: string[] = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      for (const { 0: word, index } of (node.textContent ?? "").matchAll(/(?<!\S)\S{1,30}(?!\S)/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) {
          broken.push(word);
        }
      }
    }
    return broken;
  });
}
