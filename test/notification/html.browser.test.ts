/// <reference lib="dom" />

import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Browser } from "playwright-core";
import { renderEventMail } from "../../src/actions/destinations.ts";
import { event, type EventParts, sending } from "../support/actions/event.ts";
import { atEnd } from "../support/at_end.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { faintTexts } from "../support/browser/contrast.ts";

const mail = (parts: EventParts, isTest: boolean) => renderEventMail(sending(event(parts), { isTest }));

let browser: Browser;
before(async () => {
  browser = await startBrowser();
  atEnd(() => browser.close());
});
const evil =
  `<img src=x onerror=a()><a href="https://evil.example">x</a> https://evil.example/x www.evil.example v@evil.example`;
const content = JSON.stringify({
  first_name: evil.slice(0, 100),
  last_name: "Hopper",
  phone: "+15035550100",
  email: "grace@example.com",
  street_address: `1 Main St"><script>a()</script>`,
  city: "Portland",
  state: "OR",
  zip: "97201",
  project_area: "kitchen",
  project_service: "remodel",
  project_details: `${evil}\n${"x".repeat(500)}`,
});
const whole = mail({
  content,
  extra: JSON.stringify({ [evil]: evil, list: [{ a: evil }] }),
  flags: ["country_unrecognized"],
}, true);
for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [320, 390, 800]) {
    test(`at ${width} px, ${colorScheme}, an email fits, has contrast and tap targets, loads nothing and has no foreign links`, async () => {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 700 } });
      const page = await context.newPage();
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      await page.setContent(whole.html);
      assert.deepEqual(requests, []);
      const links = await page.locator(
        "[href], [src], [background], form, script, link, img, svg, object, iframe",
      )
        .evaluateAll((all) => all.map((each) => each.getAttribute("href")));
      const [call, write] = ["tel:+15035550100", "mailto:grace@example.com"];
      assert.deepEqual(links.slice(0, 4), [call, write, call, write]);
      assert.equal(links.length, 5);
      assert.match(links[4] ?? "", /^https:\/\/www\.google\.com\/maps\/search\/\?api=1&query=1%20Main/);
      assert.deepEqual(await page.evaluate(faintTexts), []);
      assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"));
      for (const href of [call, write]) {
        const box = await page.locator(`a[href="${href}"]`).first().boundingBox();
        assert.ok(box !== null && box.height >= 48 && box.width >= 200, JSON.stringify(box));
      }
      await context.close();
    });
  }
}
