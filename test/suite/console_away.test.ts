import assert from "node:assert/strict";
import { test } from "node:test";
import { navigation } from "../../src/ops/console/router.ts";
import { send } from "../support/client.ts";
import { ownPostgres } from "../support/database.ts";
import { until } from "../support/until.ts";
import { World } from "../support/world.ts";

/** What an operator sees on the console while the store is away: this is when it is looked at. */
const own = await ownPostgres();
const world = await World.open(own.url);
world.expectLogged("totals_kept");
const server = await world.start();
const get = (path: string) =>
  send(`${server.urls.ops}${path}`, { localAddress: "127.0.0.1", timeoutMs: 20_000 });

test("with the store away every page says so with 503, the overview with what is known, and it heals by itself", async () => {
  assert.equal((await get("/")).status, 200);
  own.freeze();
  const pages = navigation.map(({ path }) => path);
  const answers = await Promise.all(pages.map(get));
  for (const [index, answer] of answers.entries()) {
    assert.equal(answer.status, 503, pages[index]);
    assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
    assert.match(answer.text, /The store (is unavailable|does not answer|accepts no writes)/);
  }
  await until(async () => (await get("/")).text.includes("The store accepts no writes"));
  const overview = await get("/");
  assert.equal(overview.status, 503);
  assert.match(overview.text, /not writable/);
  assert.equal(overview.headers.refresh, undefined, "a page changes under nobody who has not asked for it");
  assert.equal((await get("/?refresh=on")).headers.refresh, "30", "asked for it, it looks again by itself");
  assert.match(overview.text, /<title>\d problems? – /);
  own.thaw();
  await until(async () => (await get("/")).status === 200);
  assert.equal((await get("/dead")).status, 200);
});
