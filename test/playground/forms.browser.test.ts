/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { formExample, honeypotName, spamModelPath } from "../../src/contract/forms.ts";
import { documents } from "../../src/documents/published.ts";
import { formKeyCheck } from "../../src/documents/guidance.ts";
import { atEnd } from "../support/at_end.ts";
import { faultsOfAccess } from "../support/browser/access.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { faintTexts } from "../support/browser/contrast.ts";
import { faultsOfLook } from "../support/browser/look.ts";
import { WatchedPages } from "../support/browser/watched_pages.ts";
import { assertShown } from "../support/browser/shown_response.ts";
import { ctl } from "../support/server.ts";
import { TestEnv, visitor } from "../support/test_env.ts";

await testPlayground();

async function testPlayground(): Promise<void> {
  const testEnv = await TestEnv.open();
  const server = await testEnv.start();
  const live = await testEnv.formWithKey();
  const key = await testEnv.issue({ surface: "forms", sandbox: true });
  const formOptions = { required: ["name", "message"], threshold: 30, blocked: ["solar panel", "屋根"] };
  const form = await testEnv.form({ tenant: key.tenant, ...formOptions });
  const browser = await startBrowser();
  atEnd(() => browser.close());
  const pages = new WatchedPages(browser);
  const { requests, complaints } = pages;

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await pages.open(server.urls.forms + documents.formsPlayground.path, options);
    await page.locator("#response b").waitFor();
    return page;
  }

  const page = await open();
  /** Enters a text and waits until the page has processed it. */
  async function enter(selector: string, text: string): Promise<void> {
    await page.locator(selector).fill(text);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }

  test("every body gets the server's response, without a request", async () => {
    await page.context().setOffline(true);
    const bodies = [
      ...await page.locator("#example option").evaluateAll((all) =>
        all.map((option) => (option as HTMLOptionElement).value).filter((value) => value !== "")
      ),
      "",
      "{}",
      "[]",
      '"text"',
      "name=Grace",
      '{"name":',
      '{"name":"A","email":"b",}',
      "\ufeff{}",
      "\0",
      '{"name":0,"email":false}',
      '{"name":"\\u0000","email":" "}',
      '{"form_key":[],"NAME":"A"}',
      '{"email":"\\ud800","name":"A","name":{}}',
      `{"name":"A","email":"b","message":"${"é".repeat(32_749)}x"}`,
      `{"name":"A","email":"b","message":"${"é".repeat(32_749)}xx"}`,
    ];
    const seen: Record<string, number> = {};
    for (const body of bodies) {
      await enter("#body", body);
      const real = await testEnv.submit(live.form, { key: live.key.text, body });
      assertShown(await page.locator("#response").innerText(), real, body.slice(0, 200));
      const code = real.json.error ?? real.json.status;
      assert.equal(await page.locator("#status strong").innerText(), `${real.status} ${code}`);
      seen[code] = (seen[code] ?? 0) + 1;
    }
    assert.ok(["accepted", "invalid_json", "missing_required"].every((code) => (seen[code] ?? 0) >= 3));
    assert.equal(seen.body_too_large, 1);
  });

  test("the email is shown in a frame that runs no script, and in plain text", async () => {
    await enter("#body", JSON.stringify({ ...formExample, message: "<script>alert(1)</script> Hi" }));
    const frame = page.frameLocator("#mail-html");
    // Attached, because a browser need not lay out a frame that is out of view.
    await frame.locator("div", { hasText: /^<script>alert\(1\)<\/script> Hi$/ }).waitFor({
      state: "attached",
    });
    assert.equal((await frame.locator("h1").textContent())?.trim(), "Grace Hopper");
    assert.equal(await page.locator("#mail-html").getAttribute("sandbox"), "");
    assert.match(
      await page.locator("#mail-text").textContent() ?? "",
      /^New message for acme: Grace Hopper\n/,
    );
    assert.match(
      await page.locator("#mail-about").innerText(),
      /^New message from the contact form: Grace Hop/,
    );
    const read = await page.locator("#compare dl div").allInnerTexts();
    const rows = Object.fromEntries(read.map((row) => row.split("\n") as [string, string]));
    assert.equal(rows.Email, formExample.email);
    assert.equal(rows.utm_source, "newsletter");
    assert.equal(rows["Not compared with earlier posts"], "page_url, referrer");
    await page.context().setOffline(false);
  });

  test("a key that is live, mistyped or revoked loads no weights, and the first two are not sent", async () => {
    const revoked = await testEnv.issue({ surface: "forms", sandbox: true });
    await ctl(["key", "revoke", String(revoked.id)], { databaseUrl: testEnv.database.url });
    const asked = () => requests.filter((request) => request.url().endsWith(spamModelPath)).length;
    await enter("#key", live.key.text);
    assert.match(await page.locator("#model-status").innerText(), /Only the key of a sandbox/);
    await enter("#key", `${key.text.slice(0, -1)}~`);
    assert.match(await page.locator("#key-shape").innerText(), /401/);
    assert.equal(asked(), 0);
    await enter("#key", revoked.text);
    await page.locator("#model-status", { hasText: "not loaded: 401" }).waitFor();
    assert.equal(asked(), 1);
    assert.match(await page.locator("#score").innerText(), /Not computed/);
  });

  test("the key check fills in the form's required fields, and stores nothing", async () => {
    const before = await testEnv.stored();
    await enter("#tenant", key.tenant.slug);
    await enter("#form-key", form.formKey);
    await enter("#key", key.text);
    await page.locator("#model-status", { hasText: "are loaded" }).waitFor();
    await page.locator("#probe").click();
    await page.locator("#probe-result", { hasText: formKeyCheck[0].meaning.split("`")[0] as string })
      .waitFor();
    assert.equal(await page.locator("#required").inputValue(), formOptions.required.join(", "));
    assert.deepEqual(await testEnv.stored(), before);
    const html = await page.evaluate(() => document.documentElement.outerHTML + location.href);
    assert.ok(!html.includes(key.text));
    await enter("#key", "");
  });

  test("the score, the verdict and the reasons are those that the service stores", async () => {
    await enter("#threshold", String(formOptions.threshold));
    await enter("#blocked", formOptions.blocked.join(", "));
    const messages = [
      "Rank your website on the first page of Google with our SEO backlinks: https://spam.example",
      "We install SOLAR-PANELS and a solar panel battery.",
      "Could you give us a price for the porch? We are home after five.",
      "屋根の修理をお願いします。",
      "http://bit.ly/x",
    ];
    const bodies = [
      ...messages.map((message) => visitor({ message })),
      visitor({
        [honeypotName]: "https://bot.example",
        name: "xkqzjvbwrt",
        email: "xkqzjvbwrt@mailinator.com",
      }),
      visitor({ form_started_at: new Date(Date.now() - 3_600_000).toISOString(), company: "Acme" }),
      Object.fromEntries([...Array(201)].map((_, at) => [at === 0 ? "name" : at === 1 ? "message" : at, at])),
    ];
    const verdicts = new Set<string>();
    for (const body of bodies) {
      const text = JSON.stringify(body);
      await enter("#body", text);
      const { status, json } = await testEnv.submit(form, { key: key.text, body: text });
      assert.equal(status, 202);
      const { score, verdict, reasons } = await testEnv.submission(json.submission_id);
      assert.equal(await page.locator("#score strong").innerText(), String(score), text);
      const shown = await page.locator("#score li small").allInnerTexts();
      assert.deepEqual(shown.map((reason) => reason.trim()), reasons, text);
      const outcome = await page.locator("#status").innerText();
      assert.match(outcome, verdict === "clean" ? /is stored and delivered/ : /but held as spam/);
      if (verdict !== "clean") assert.match(outcome, verdict === "honeypot" ? /honeypot/ : /see the score/);
      verdicts.add(verdict);
    }
    assert.equal(verdicts.size, 3);
    await enter("#body", JSON.stringify(visitor({ message: messages[0] })));
    assert.match(await page.locator("#score").innerText(), /Main evidence for spam: .*“[^”]+” \d+%/);
  });

  for (const [width, colorScheme] of [[390, "dark"], [768, "light"], [1280, "dark"]] as const) {
    test(`at ${width} pixels in ${colorScheme} nothing is cut off, faint or out of reach`, async () => {
      const own = await open({ viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce" });
      for (const label of ["Typical spam", "Field with another name"]) {
        await own.locator("#example").selectOption({ label });
        await own.evaluate(() => document.querySelectorAll("details").forEach((one) => one.open = true));
        assert.ok(await own.evaluate(() => document.documentElement.scrollWidth) <= width, label);
        assert.deepEqual(await own.evaluate(faintTexts), [], label);
        assert.deepEqual(await own.evaluate(faultsOfAccess), [], label);
      }
      assert.deepEqual(await own.evaluate(faultsOfLook, { targetMin: 0 }), []);
      await own.context().close();
    });
  }

  test("the page requests only itself, the weights and the key check, and logs no error", () => {
    const asked = new Set(
      requests.filter((request) => !request.url().startsWith("blob:")).map((request) => {
        const { origin, pathname, search } = new URL(request.url());
        assert.equal(origin, server.urls.forms);
        assert.match(search, /^(\?v=[\w-]+)?$/);
        assert.equal(request.postData(), request.method() === "POST" ? "{}" : null);
        return `${request.method()} ${pathname}`;
      }),
    );
    assert.deepEqual([...asked].sort(), [
      "GET /forms",
      "GET /forms/playground.css",
      "GET /forms/playground.js",
      "GET /forms/playground.svg",
      `GET ${spamModelPath}`,
      `POST /v1/forms/${key.tenant.slug}/${form.formKey}`,
    ]);
    // The browser itself logs the refusals of the revoked key and of the key check.
    assert.deepEqual(complaints.filter((text) => !/status of 40[01]/.test(text)), []);
  });
}
