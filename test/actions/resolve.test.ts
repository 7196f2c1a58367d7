import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createResolver } from "../../src/actions/resolve.ts";
import { type NameServer, startNameServer } from "../support/actions/name_server.ts";

let names: NameServer;

before(async () => {
  names = await startNameServer();
});

test("a name has all its addresses, IPv4 first", async () => {
  names.answer = () => ["2606:4700::1", "192.0.2.1", "192.0.2.2"];
  const resolve = createResolver({ servers: [names.address] });
  assert.deepEqual(await resolve("crm.test"), ["192.0.2.1", "192.0.2.2", "2606:4700::1"]);
});

test("a name with addresses of one family has those", async () => {
  const resolve = createResolver({ servers: [names.address] });
  names.answer = () => ["192.0.2.1"];
  assert.deepEqual(await resolve("crm.test"), ["192.0.2.1"]);
  names.answer = () => ["2606:4700::1"];
  assert.deepEqual(await resolve("crm.test"), ["2606:4700::1"]);
});

test("an address is its own, and nobody is asked", async () => {
  const questions = names.questions.length;
  const resolve = createResolver({ servers: [names.address] });
  assert.deepEqual(await resolve("192.0.2.7"), ["192.0.2.7"]);
  assert.deepEqual(await resolve("::1"), ["::1"]);
  assert.equal(names.questions.length, questions);
});

test("a name without addresses rejects with the resolver's code", async () => {
  names.answer = () => [];
  await assert.rejects(createResolver({ servers: [names.address] })("none.test"), { code: "ENODATA" });
});

test("a name of the hosts file is found, though no name server knows it", async () => {
  assert.ok(
    (await createResolver()("localhost")).some((address) => address === "127.0.0.1" || address === "::1"),
  );
});
