import assert from "node:assert/strict";
import { test } from "node:test";
import { openDestinations } from "../../src/actions/destinations.ts";
import { createResolver } from "../../src/actions/resolve.ts";
import { openMail } from "../../src/actions/smtp.ts";
import { parseNetworks } from "../../src/http/addresses.ts";
import { runCtl } from "../support/server.ts";

test("what ctl tenant route can set is what the actions process can send to", async () => {
  const { stdout } = await runCtl(["tenant", "route", "--help"], {});
  const [, kinds = ""] = /--clear ([a-z|]+)/.exec(stdout) ?? [];
  const known = openDestinations({
    allowedNetworks: parseNetworks(""),
    sendMail: openMail(null),
    timeoutMs: 1_000,
    resolve: createResolver(),
  });
  assert.deepEqual(kinds.split("|"), known.map(({ kind }) => kind));
});
