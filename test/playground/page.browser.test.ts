/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { documents } from "../../src/documents/published.ts";
import { atEnd } from "../support/at_end.ts";
import { faultsOfAccess } from "../support/browser/access.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { faintTexts } from "../support/browser/contrast.ts";
import { faultsOfLook } from "../support/browser/look.ts";
import { TestEnv } from "../support/test_env.ts";

await testPages();

async function testPages(): Promise<void> {
  const testEnv = await TestEnv.open();
  const { url } = await testEnv.start();
  const browser = await startBrowser();
  atEnd(() => browser.close());
  const pages = [documents.briefPage.path, documents.formsBriefPage.path];

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: 390, height: 800 },
      // Without animations, so that measurements are final.
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => complaints.push(message.text()));
    page.once("close", () => assert.deepEqual(complaints, []));
    await page.goto(url + path);
    return page;
  }

  for (const path of pages) {
    for (const [width, colorScheme] of [[390, "light"], [768, "dark"], [1280, "light"]] as const) {
      test(`${path} at ${width} pixels in ${colorScheme}: nothing is covered, cut off, faint or out of reach`, async () => {
        const page = await open(path, { viewport: { width, height: 800 }, colorScheme });
        await page.evaluate(() =>
          document.querySelectorAll("details").forEach((one) => {
            // Only one of a name can be open.
            one.removeAttribute("name");
            one.open = true;
          })
        );
        assert.deepEqual(await page.evaluate(faultsOfLook, { targetMin: 0 }), []);
        assert.deepEqual(await page.evaluate(faintTexts), []);
        assert.deepEqual(await page.evaluate(faultsOfAccess), []);
        assert.equal(await page.locator("button.copy").count(), await page.locator("pre").count());
        await page.context().close();
      });
    }
  }

  test("a block is copied by keyboard without its final line break, and a screen reader is notified", async () => {
    const page = await open(documents.briefPage.path, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.keyboard.press("Tab");
    const button = page.getByRole("button", { name: "Copy 1. Check the key" });
    for (let n = 0; n < 60 && !await button.evaluate((one) => one === document.activeElement); n++) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: /^Copied$/ }).waitFor({ state: "attached" });
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, (await page.locator("pre").first().textContent())?.trimEnd());
    assert.doesNotMatch(copied, /\n$/);
    // The focus stays on the button, which soon offers to copy again.
    assert.ok(
      await page.getByRole("button", { name: /1\. Check the key/ }).evaluate((one) =>
        one === document.activeElement
      ),
    );
    await button.waitFor();
    await page.context().close();
  });

  test("without clipboard access the block is selected and a message says so", async () => {
    const page = await open(documents.briefPage.path);
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.getByRole("button", { name: "Copy 1. Check the key" }).click();
    await page.getByRole("status").filter({ hasText: /^Selected$/ }).waitFor({ state: "attached" });
    const selected = await page.evaluate(() => getSelection()?.toString());
    assert.match(selected ?? "", /^curl -sS -i http/);
    await page.context().close();
  });
}
