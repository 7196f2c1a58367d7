/// <reference lib="dom" />

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { documents } from "../../src/documents/published.ts";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/documents/examples.ts";
import { keyCheck } from "../../src/documents/guidance.ts";
import type { IntakeResponse } from "../../src/playground/response.ts";
import { freshKey, TestEnv } from "../support/test_env.ts";
import areaTerms from "../vectors/areas.json" with { type: "json" };
import vectors from "../vectors/lead.json" with { type: "json" };
import { body as generatedBody } from "../support/lead/bodies.ts";
import { WatchedPages } from "../support/browser/watched_pages.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { assertShown } from "../support/browser/shown_response.ts";
import { faultsOfAccess } from "../support/browser/access.ts";
import { faintTexts } from "../support/browser/contrast.ts";
import { atEnd } from "../support/at_end.ts";

const examples: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };

await testPage();

async function testPage(): Promise<void> {
  const testEnv = await TestEnv.open();
  const server = await testEnv.start();
  const key = await testEnv.issue();
  const browser: Browser = await startBrowser();
  atEnd(() => browser.close());

  const pages = new WatchedPages(browser);
  const { requests, complaints } = pages;

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await pages.open(server.url + documents.playground.path, options);
    if (options.javaScriptEnabled !== false) await page.locator("#areas .term").first().waitFor();
    return page;
  }

  const page = await open();
  const body = page.locator("#body");
  const status = page.locator("#status strong");
  /** Waits one frame, after which the page has processed the last input. */
  const settled = () =>
    page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  async function type(text: string): Promise<string> {
    await body.fill(text);
    await settled();
    return await status.innerText();
  }
  /** Calls the page's own script with bodies in base64, so that nothing changes them on the way. */
  async function answersTo(bodies: readonly string[]): Promise<IntakeResponse[]> {
    const sent = bodies.map((text) => Buffer.from(text).toString("base64"));
    return await page.evaluate(async ({ sent, terms }) => {
      const script = document.querySelector("script[src]") as HTMLScriptElement;
      const { responseTo } = await import(script.src);
      const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
      return sent.map((text) =>
        responseTo(utf8.decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0))), terms)
      );
    }, { sent, terms: areaTerms });
  }

  test("every vector gets its verdict in the browser", async () => {
    const answers = await answersTo(vectors.map(({ body }) => body.toWellFormed()));
    for (const [index, { name, body: _, ...expected }] of vectors.entries()) {
      const { reason: _reason, ...found } = { reason: "", ...answers[index]?.validation };
      assert.deepEqual(found, expected, name);
      assert.equal(answers[index]?.body.detail, "detail" in expected ? expected.detail : undefined, name);
    }
  });

  test("2,000 generated bodies get the same response in the browser and from the server", async (t) => {
    const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31);
    t.diagnostic(`FC_SEED=${seed}`);
    const bodies = fc.sample(generatedBody, { numRuns: 2_000, seed });
    const seen: Record<string, number> = {};
    for (let start = 0; start < bodies.length; start += 250) {
      const some = bodies.slice(start, start + 250);
      const [here, there] = await Promise.all([answersTo(some), Promise.all(some.map(throughServer))]);
      for (const [index, answer] of there.entries()) {
        const found = inBrowser(here[index] as IntakeResponse);
        assert.deepEqual(found, answer, JSON.stringify(some[index]));
        seen[answer.status] = (seen[answer.status] ?? 0) + 1;
      }
    }
    t.diagnostic(JSON.stringify(seen));
    for (const status of [202, 400, 422]) assert.ok((seen[status] ?? 0) > 60, `${status} is among them`);
  });

  /** Returns the server's response and what it stored. */
  async function throughServer(text: string) {
    const headers = { "Idempotency-Key": freshKey() };
    const { status, json } = await testEnv.intake({
      key: key.text,
      body: new TextEncoder().encode(text),
      headers,
    });
    if (status !== 202) return { status, error: json.error, fields: json.fields, detail: json.detail };
    const { lead, extra, flags } = await testEnv.event(json.event_id);
    assert.deepEqual(json.flags, flags);
    return { status, lead, extra, flags };
  }

  function inBrowser({ status, body, validation }: IntakeResponse) {
    if (validation?.kind !== "valid") {
      return { status, error: body.error, fields: body.fields, detail: body.detail };
    }
    return { status, lead: validation.lead, extra: validation.extra, flags: body.flags };
  }

  test("the shown response has the server's status, headers and body", async () => {
    for (const [name, { body: text, idempotencyKey }] of Object.entries(examples)) {
      await page.locator("#example").selectOption(name);
      await settled();
      const shown = await page.locator("#response").innerText();
      const headers = { "Idempotency-Key": idempotencyKey ?? freshKey() };
      const real = await testEnv.intake({ key: key.text, body: text, headers });
      assertShown(shown, real, name);
    }
  });

  test("running the shown command returns the shown response", async () => {
    for (const [name, { response }] of Object.entries(examples)) {
      if (response.status === 413) continue;
      await page.locator("#example").selectOption(name);
      if (response.status === 202) await page.locator("#idempotency-key").fill(freshKey());
      await settled();
      const line = await page.locator("#curl").innerText();
      assert.ok(!line.includes(key.text));
      const printed = execFileSync("sh", ["-c", line], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, LEADS_API_KEY: key.text },
        stdio: ["ignore", "pipe", "ignore"],
      });
      assert.match(printed, new RegExp(`^HTTP/1\\.1 ${response.status} `), name);
    }
  });

  test("the lead as stored is shown beside the lead as typed, with the differences marked", async () => {
    await page.locator("#example").selectOption("canadian");
    await settled();
    const row = page.locator("#compare tr", { hasText: "zip" });
    assert.deepEqual(await row.locator("td").allInnerTexts(), ["k1a0b1", "K1A·0B1"]);
    assert.deepEqual(await row.locator("del").allInnerTexts(), ["k", "a", "b"]);
    assert.deepEqual(await row.locator("ins").allInnerTexts(), ["K", "A·", "B"]);
    assert.equal(
      await page.locator("#compare tr", { hasText: "project_area" }).locator("ins, del").count(),
      0,
    );
    await type('{"first_name":"Ada","last_name":"Lovelace","phone":"x","zipcode":"97201"}');
    await page.getByText("under extra; did you mean zip?").waitFor();
  });

  test("invalid input shows the server's response and the page keeps working", async () => {
    const bad: Readonly<Record<string, string>> = {
      "nothing": "",
      "broken JSON": '{"first_name":',
      "64 KiB of text": "x".repeat(65_536),
      "64 KiB of quotes": '"'.repeat(65_536),
      "64 KiB of brackets": "[".repeat(65_536),
      "a byte more": "x".repeat(65_537),
      "a megabyte": "x".repeat(1_000_000),
      "emoji": "🏠".repeat(1_000),
      "emoji in a lead": JSON.stringify({ first_name: "🏠".repeat(101), last_name: "🧱", phone: "1" }),
      "NUL": "\u0000",
      "NUL in a lead": '{"first_name":"A\u0000","last_name":"B","phone":"1"}',
      "an escaped NUL": '{"first_name":"\\u0000","last_name":"B","phone":"1"}',
      "a byte order mark":
        '\ufeff{"first_name":"A","last_name":"B","phone":"1","zip":"97201-1234, or is it 97202?"}',
      "markup": '<img src=x onerror="alert(1)">',
      "a prototype":
        '{"__proto__":{"first_name":"A"},"constructor":1,"first_name":"A","last_name":"B","phone":"1"}',
    };
    for (const [what, text] of Object.entries(bad)) {
      const shown = await type(text);
      const { status, json } = await testEnv.intake({ key: key.text, body: text });
      assert.equal(shown, `${status} ${json.error ?? json.status}`, what);
    }
    assert.equal(await type(leadExamples.minimal.body), "202 accepted");
  });

  test("a finding links to its place in the text, and failing text is underlined", async () => {
    await page.locator("#example").selectOption("several");
    await settled();
    assert.ok((await page.locator("#mirror .failing").allInnerTexts()).join("").includes('"state"'));
    await page.locator("#findings button", { hasText: "state" }).click();
    const selected = await body.evaluate((area: HTMLTextAreaElement) =>
      area.value.slice(area.selectionStart, area.selectionEnd)
    );
    assert.match(selected, /^"state": "Oregon, /);
  });

  test("the form writes the JSON member by member and shows errors at each field", async () => {
    await type('{\n  "first_name": "Ada",\n  "n": 1.10\n}');
    await page.locator('input[name="view"][value="form"]').check();
    await page.locator("#field-last_name").fill("Lovelace");
    await page.locator("#field-phone").fill("415 555 0123");
    await page.locator("#field-zip").fill("9".repeat(21));
    await page.locator("#field-cost").fill("0");
    await settled();
    assert.equal(await page.locator("#message-zip").innerText(), "has more than 20 characters");
    assert.equal(await page.locator("#field-zip").getAttribute("aria-invalid"), "true");
    assert.match(await page.locator("#message-cost").innerText(), /^must be between 0\.01 and 999\.99/);
    assert.equal(await page.locator("#message-city").innerText(), "");
    await page.locator("#field-zip").fill("");
    await page.locator("#field-cost").fill("12.50");
    await page.locator("#field-project_area").fill("Moat");
    await settled();
    assert.equal(await status.innerText(), "202 accepted");
    assert.match(await page.locator("#message-project_area").innerText(), /not in the vocabulary/);
    await page.locator("#field-cost").fill("a lot");
    await settled();
    assert.equal(await status.innerText(), "400 invalid_json");
    assert.match(await page.locator("#message-cost").innerText(), /a number is needed/);
    await page.locator("#field-cost").fill("12.50");
    await page.locator('input[name="view"][value="json"]').check();
    assert.equal(
      await body.inputValue(),
      '{\n  "first_name": "Ada",\n  "last_name": "Lovelace",\n  "phone": "415 555 0123",\n' +
        '  "project_area": "Moat",\n  "cost": 12.50,\n  "n": 1.10\n}',
    );
  });

  test("the key check posts {} with the key, explains the response, and stores the key nowhere", async () => {
    const own = await open();
    const before = await testEnv.stored();
    const cases = [
      [key.text, "422 validation_failed", keyCheck[0].meaning],
      [`${key.text.slice(0, -1)}~`, "401 unauthorized", keyCheck[1].meaning],
    ] as const;
    for (const [text, answer, meaning] of cases) {
      await own.locator("#key").fill(text);
      assert.equal(await own.locator("#key-shape").innerText() === "", text === key.text);
      const [request] = await Promise.all([
        own.waitForRequest((request) => request.method() === "POST"),
        own.locator("#probe").click(),
      ]);
      assert.equal(new URL(request.url()).pathname, "/v1/intake");
      assert.equal(request.postData(), "{}");
      assert.equal(request.headers()["x-api-key"], text);
      await own.locator("#probe-result strong").waitFor();
      const said = await own.locator("#probe-result").innerText();
      assert.ok(said.startsWith(`${answer} ${meaning}`), said);
      await own.locator("#key").fill("");
    }
    await own.locator("#key").fill(key.text);
    const kept = await own.evaluate(() => ({
      stores: [localStorage.length, sessionStorage.length, document.cookie, history.state],
      text: document.documentElement.outerHTML + location.href,
    }));
    assert.deepEqual(kept.stores, [0, 0, "", null]);
    assert.ok(!kept.text.includes(key.text));
    await own.reload();
    assert.equal(await own.locator("#key").inputValue(), "");
    assert.deepEqual(await testEnv.stored(), before);
    await own.context().close();
  });

  for (
    const [width, colorScheme] of [[320, "light"], [390, "dark"], [768, "light"], [1280, "dark"]] as const
  ) {
    test(`at ${width} pixels in ${colorScheme} nothing overflows, and everything is readable and reachable by keyboard`, async () => {
      const own = await open({ viewport: { width, height: 800 }, colorScheme });
      for (
        const [name, view] of [["complete", "json"], ["several", "form"], [
          "project_area_unknown",
          "json",
        ]] as const
      ) {
        await own.locator("#example").selectOption(name);
        await own.locator(`input[name="view"][value="${view}"]`).check();
        assert.ok(await own.evaluate(() => document.documentElement.scrollWidth) <= width, name);
        assert.deepEqual(await own.evaluate(faintTexts), [], name);
        const widths = await own.locator("table:has(th:text-is('Stored')) td").evaluateAll((cells) =>
          cells.map((cell) => cell.clientWidth)
        );
        assert.ok(widths.every((cell) => cell >= 64), `${name}: ${widths}`);
        assert.ok(name !== "complete" || widths.length > 3);
      }
      await own.evaluate(() => document.querySelectorAll("details").forEach((one) => one.open = true));
      assert.deepEqual(await own.evaluate(faultsOfAccess), []);
      assert.equal(await own.locator("button.copy").count(), await own.locator("pre.code").count());
      await own.context().close();
    });
  }

  test("without JavaScript the page is documentation without dead controls", async () => {
    const own = await open({ javaScriptEnabled: false });
    assert.ok(await own.locator("#playground").isHidden());
    assert.ok(await own.locator("#probe").isHidden());
    assert.ok(await own.getByText("To try leads here, enable JavaScript").isVisible());
    for (const id of ["rules", "limits", "envelope", "responses", "examples"]) {
      assert.ok(await own.locator(`#${id} h2`).isVisible(), id);
    }
    await own.locator("#example-canadian summary").click();
    assert.ok(await own.locator("#example-canadian pre").isVisible());
    assert.ok(await own.locator("#example-canadian button").isHidden());
    await own.context().close();
  });

  test("the policy blocks inline scripts and written markup", async () => {
    const own = await browser.newPage();
    await own.goto(server.url + documents.playground.path);
    const ran = await own.evaluate(() => {
      const script = document.createElement("script");
      try {
        script.text = "globalThis.ran = true";
        document.body.append(script);
        document.body.innerHTML = "<p>gone</p>";
      } catch {
        // Trusted types block it.
      }
      return "ran" in globalThis || document.body.textContent === "gone";
    });
    assert.equal(ran, false);
    await own.close();
  });

  test("the page requests only itself, the vocabulary and key checks, and logs no error", () => {
    const asked = new Set(requests.map((request) => {
      const { origin, pathname } = new URL(request.url());
      assert.equal(origin, server.url);
      if (request.method() === "POST") assert.equal(request.postData(), "{}");
      return `${request.method()} ${pathname}`;
    }));
    assert.deepEqual([...asked].sort(), [
      "GET /api",
      "GET /api/playground.css",
      "GET /api/playground.js",
      "GET /api/playground.svg",
      "GET /v1/vocabulary",
      "POST /v1/intake",
    ]);
    // The browser itself logs the key check's 401.
    assert.deepEqual(complaints.filter((text) => !/status of 4(01|22)/.test(text)), []);
  });
}
