/// <reference lib="dom" />

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import { navigation } from "../../../src/ops/console/router.ts";
import { startBrowser } from "../../support/browser/browser.ts";
import { freshKey, lead } from "../../support/world.ts";
import { hostile } from "../../support/console/crowd.ts";
import { ConsoleStage } from "../../support/console/stage.ts";
import { atEnd } from "../../support/at_end.ts";

await testConsole();

async function testConsole(): Promise<void> {
  const stage = await ConsoleStage.open();
  const { world } = stage;
  const browser = await startBrowser();
  atEnd(() => browser.close());

  const key = await world.issue({ label: "a source with a rather long label.example" });
  const formId = await stage.form(key.tenant);
  const dead = await stage.accepted(key, { last_name: "Lindqvist", project_details: hostile.repeat(20) });
  await stage.kill(key.tenant, [dead], "crm_http_500_with_a_long_reason");
  const held = await stage.held(key, formId, ["links", "too_fast", "w".repeat(80)]);
  await stage.accepted(key, { project_area: "sauna" });
  await stage.accepted(key, { project_area: "w".repeat(100) });
  const collidingKey = freshKey();
  for (const city of ["Springfield", "w".repeat(100)]) {
    await world.intake({ key: key.text, body: lead({ city }), headers: { "Idempotency-Key": collidingKey } });
  }
  const [collision] = await world.sql<{ id: string }[]>`select id from collision`;
  await world.sql`
    insert into minute_sample (at, node, accepted, refused, delivered, failed, died, refusals, pending, dead, oldest_pending_s, breaker)
    select date_trunc('minute', now()) - make_interval(mins => i), 'n', 20 + i % 7, i % 3, 20, 0, i % 11 / 10,
      json_build_object('rate_limited', i % 2, 'validation_failed', i % 3), 4, 1, i % 90,
      case when i between 10 and 20 then 'open' else 'closed' end
    from generate_series(1, 1440) as i`;

  const pages = [
    ...navigation.map(({ path }) => path),
    "/?range=24h",
    `/leads/${dead}`,
    `/leads/${held}`,
    "/dead/replay-all",
    `/collisions/${collision?.id}`,
    "/leads/nosuchevent",
    "/dead?wrong=1",
  ];

  /** What the pages have asked others for, and complained of. */
  const complaints: string[] = [];

  /** A page in a browser without JavaScript. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ javaScriptEnabled: false, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:" && origin !== stage.url) complaints.push(`asked for ${request.url()}`);
    });
    page.on("console", (message) => complaints.push(message.text()));
    return page;
  }

  test("every page has its landmarks, one heading of the first rank, and a name for everything that is used", async () => {
    const page = await open();
    for (const path of pages) {
      await page.goto(stage.url + path);
      assert.deepEqual(await page.evaluate(faultsOfStructure), [], path);
    }
    await page.context().close();
  });

  test("the keyboard reaches everything, shows where it is, and can skip the navigation", async () => {
    const page = await open({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${stage.url}/dead`);
    await page.keyboard.press("Tab");
    const focused = () =>
      page.evaluate(() => {
        const at = document.activeElement as HTMLElement;
        return {
          text: at.textContent?.trim() ?? "",
          outline: getComputedStyle(at).outlineStyle,
          left: at.offsetLeft,
        };
      });
    const skip = await focused();
    assert.equal(skip.text, "Skip to the content");
    assert.ok(skip.left >= 0, "it comes into sight");
    assert.equal(skip.outline, "solid");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    const inside = await page.evaluate(() => document.activeElement?.closest("main") !== null);
    assert.ok(inside);
    await page.context().close();
  });

  test("without JavaScript an operator searches, replays, releases and confirms", async () => {
    const page = await open({ viewport: { width: 1280, height: 900 } });
    const message = page.locator("[role=status]");
    await page.goto(`${stage.url}/`);
    await page.getByText("1 dead letter").first().waitFor();
    await page.getByRole("link", { name: "Leads", exact: true }).click();
    await page.getByLabel("Last name begins with").fill("lindq");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name: dead }).click();
    await page.getByRole("heading", { name: `Lead ${dead}` }).waitFor();
    await page.getByText("Given up").first().waitFor();
    await page.getByRole("button", { name: "Replay" }).click();
    await message.getByText("1 dead letter put back to pending").waitFor();
    await page.getByText("Replayed dead letter").first().waitFor();

    await page.getByRole("link", { name: "Held" }).click();
    await page.getByLabel(`Choose ${held}`).check();
    await page.getByRole("button", { name: "Release the chosen ones" }).click();
    await message.getByText("1 submission released").waitFor();
    await page.getByText("Nothing waits to be judged").waitFor();

    await page.getByRole("link", { name: "Vocabulary" }).click();
    await page.getByRole("row", { name: /sauna/ }).getByRole("button", { name: "Confirm" }).click();
    await message.getByText("The term is confirmed").waitFor();
    await page.getByRole("listitem").filter({ hasText: /^sauna$/ }).waitFor();

    await page.getByRole("link", { name: "Audit" }).click();
    for (const action of ["Replayed dead letter", "Released submission", "Confirmed the term"]) {
      await page.getByRole("row", { name: new RegExp(action) }).waitFor();
    }
    assert.deepEqual((await stage.audit()).map(({ action, subject }) => [action, subject]), [
      ["dead.replay", dead],
      ["submission.release", held],
      ["area.confirm", "sauna"],
    ]);
    await page.context().close();
  });

  test("a form on another site's page changes nothing", async () => {
    const again = await stage.accepted(key);
    await stage.kill(key.tenant, [again]);
    const token = await stage.token("/dead", "/dead/replay");
    const page = await open();
    await page.route("http://evil.example/", (route) =>
      route.fulfill({
        contentType: "text/html",
        body:
          `<form method="post" action="${stage.url}/dead/replay"><input name="token" value="${token}"><input
          name="only" value="${again}"><button>Win</button></form>`,
      }));
    await page.goto("http://evil.example/");
    await page.getByRole("button", { name: "Win" }).click();
    await page.getByText("The form was sent from another place").waitFor();
    const [row] = await world.sql`select 1 from dead_letter where event_id = ${again}`;
    assert.ok(row);
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !/evil|status of 403/.test(text)));
    await page.context().close();
  });

  test("no page asked anybody else for anything, or met a refusal of its own policy", () => {
    // The browser itself remarks on the pages that are there to be refused.
    assert.deepEqual(complaints.filter((text) => !/status of 40[04]/.test(text)), []);
  });
}

/** What a page lacks for who does not see it, or has no mouse; runs in the page. */
function faultsOfStructure(): string[] {
  const found: string[] = [];
  const need = (selector: string, count: number) => {
    const there = document.querySelectorAll(selector).length;
    if (there !== count) found.push(`${there} of ${selector}`);
  };
  need("html[lang=en]", 1);
  for (const one of ["header", "nav[aria-label]", "main", "footer", "h1", "head > title"]) need(one, 1);
  if (!document.title.endsWith(" – Lead intake console")) found.push(document.title);
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size < ids.length) found.push("an id is there twice");
  for (const field of document.querySelectorAll<HTMLInputElement>("input:not([type=hidden]), select")) {
    if (field.labels?.length === 0 && field.getAttribute("aria-label") === null) found.push(field.outerHTML);
  }
  for (const control of document.querySelectorAll("button, a")) {
    if ((control.getAttribute("aria-label") ?? control.textContent ?? "").trim() === "") {
      found.push(control.outerHTML);
    }
  }
  for (const table of document.querySelectorAll("table")) {
    if (table.querySelector("thead th[scope=col]") === null) found.push("a table without heads");
    const box = table.closest("[role=region][aria-label][tabindex='0']");
    if (box === null) found.push("a table whose box the keyboard cannot scroll");
  }
  for (const plot of document.querySelectorAll("svg[role=img]")) {
    const names = (plot.getAttribute("aria-labelledby") ?? "").split(" ").map((id) =>
      document.getElementById(id)
    );
    if (names.length !== 2 || names.some((name) => !name?.textContent)) found.push("a plot without a name");
  }
  const ranks = [...document.querySelectorAll("h1, h2, h3")].map(({ tagName }) => Number(tagName.slice(1)));
  if (ranks.some((rank, index) => rank > (ranks[index - 1] ?? 0) + 1)) {
    found.push(`headings ${ranks.join(" ")}`);
  }
  return found;
}
