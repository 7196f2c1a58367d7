import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createResolver } from "../../src/actions/resolve.ts";
import { type NameServer, startNameServer } from "../support/actions/name_server.ts";

let names: NameServer;

before(async () => {
  names = await startNameServer();
});

const addressesOf = async (hostname: string) =>
  (await createResolver({ servers: [names.address] })(hostname)).addresses;

test("a name has all its addresses, IPv4 first", async () => {
  names.answer = () => ["2606:4700::1", "192.0.2.1", "192.0.2.2"];
  assert.deepEqual(await addressesOf("crm.test"), ["192.0.2.1", "192.0.2.2", "2606:4700::1"]);
});

test("it says how long that holds, by the name server's word", async () => {
  names.answer = () => ["192.0.2.1", "2606:4700::1"];
  names.ttlSeconds = 30;
  assert.equal((await createResolver({ servers: [names.address] })("crm.test")).ttlMs, 30_000);
});

test("a name without addresses rejects with the resolver's code", async () => {
  names.answer = () => [];
  // The one says that there is no such record, the other that there is no such name.
  await assert.rejects(addressesOf("none.test"), { code: /^(ENODATA|ENOTFOUND)$/ });
});

test("a name of the hosts file is found, though no name server knows it", async () => {
  const { addresses } = await createResolver()("localhost");
  assert.ok(addresses.some((address) => address === "127.0.0.1" || address === "::1"));
});
