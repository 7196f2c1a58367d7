/**
 * The page with the mails and webhooks that were caught, and what a hostile one cannot do there.
 *
 * @module
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { isLeftOut } from "../../scripts/test_plan.ts";
import { openCatcher } from "../../scripts/caught/catcher.ts";
import { Authority } from "../support/authority.ts";
import { atEnd } from "../support/at_end.ts";
import { startBrowser } from "../support/browser/browser.ts";
import { send } from "../support/client.ts";

const authority = new Authority();
const { cert, key } = authority.issue({ name: "caught", use: "server" });
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const catcher = await openCatcher({ listen: { host: "127.0.0.1", port: 0 }, cert, key, secret });
atEnd(() => catcher.close());

// Whoever wants to know that a mail was opened.
const seen: string[] = [];
const stranger = createServer((request, response) => {
  seen.push(request.url ?? "");
  response.end();
}).listen(0, "127.0.0.1");
await once(stranger, "listening");
atEnd(() => stranger.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  send(`${catcher.url}${path}`, { headers });

test("another name that points here reads nothing, and nothing can be changed", async () => {
  const answer = await get("/", { Host: "evil.example" });
  assert.equal(answer.status, 421);
  assert.doesNotMatch(answer.text, /mail\//);
  assert.equal((await send(`${catcher.url}/`, { method: "POST" })).status, 405);
  for (const path of ["/mail/999", "/mail/1x", "/webhook/1", "/style.css/", "/mail/1/raw"]) {
    assert.equal((await get(path)).status, 404, path);
  }
});

if (!isLeftOut("test/scripts/caught: browser")) {
  test("in a browser, a mail's HTML runs no script, loads nothing from elsewhere and cannot reach the page around it", async () => {
    const browser = await startBrowser();
    atEnd(() => browser.close());
    const page = await browser.newPage();
    await page.goto(catcher.url);
    await page.getByRole("link", { name: /Café/ }).first().click();
    const frame = page.frameLocator("iframe");
    await frame.getByText("café").waitFor();
    assert.match(await page.title(), /^Café/);
    await page.goto(`${page.url()}/html`);
    await page.getByText("café").waitFor();
    assert.deepEqual(seen, []);
  });
}
