import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { makeCertificates } from "../../kits/conformance/certificates.ts";
import { buildDriver, Driver, type Line, type Reply } from "../../kits/conformance/drivers.ts";
import { inTurns } from "../../kits/conformance/suite.ts";
import { TestEnv } from "../support/test_env.ts";
import { testedKits } from "../support/kits/kit.ts";
import { temporaryFolder } from "../support/folder.ts";
import { atEnd } from "../support/at_end.ts";

const folder = temporaryFolder("kits-service");
const certificates = makeCertificates(folder);

const testEnv = await TestEnv.open();
const tls = { TLS_CERT_FILE: join(folder, "server.pem"), TLS_KEY_FILE: join(folder, "server.key") };
let service = await testEnv.start(tls);

const posts = 400;
const atOnce = 8;
/** Above a call's own deadline of two minutes. */
const withinMs = 180_000;

/** Relays connections to the service's current port and counts them. */
const relay = {
  sockets: new Set<Socket>(),
  most: 0,
  server: createServer((inner) => {
    const outer = connect(Number(new URL(service.url).port), "127.0.0.1");
    relay.sockets.add(inner);
    relay.most = Math.max(relay.most, relay.sockets.size);
    inner.once("close", () => {
      relay.sockets.delete(inner);
      outer.destroy();
    });
    outer.once("close", () => inner.destroy());
    for (const socket of [inner, outer]) socket.on("error", () => {});
    inner.pipe(outer).pipe(inner);
  }).listen(0, "127.0.0.1"),
};
await once(relay.server, "listening");
atEnd(() => {
  relay.server.close();
  for (const socket of relay.sockets) socket.destroy();
});
const address = `https://127.0.0.1:${(relay.server.address() as { port: number }).port}`;

for (const kit of testedKits) {
  test(`${kit.name} loses and doubles no lead when the service is killed`, async (t) => {
    const key = await testEnv.issue({ tenant: await testEnv.tenant({ sandbox: true }) });
    await buildDriver(kit.folder);
    const driver = new Driver(kit.folder);
    t.after(() => driver.close());
    const ask = (line: Line): Promise<Reply> =>
      driver.ask({
        client: "service",
        call: "post_lead",
        base_url: address,
        key: key.text,
        ca_file: certificates.caFile,
        lead_json: JSON.stringify({ first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567" }),
        // Enough tries for a slow restart of the service.
        options: { tries: 12 },
        real_time: true,
        ...line,
      }, withinMs);
    const events = async () => {
      const rows = await testEnv.sql<{ event_id: string; idempotency_key: string }[]>`
        select event_id, idempotency_key from event where key_id = ${key.id}`;
      return new Map(rows.map((row) => [row.event_id, row.idempotency_key]));
    };

    await t.test(`${kit.name}: a key check is valid and stores nothing`, async () => {
      assert.equal((await ask({ call: "check_key" })).result?.verdict, "valid");
      assert.equal((await events()).size, 0);
    });

    await t.test(`${kit.name}: a lead is accepted and its repeat is a duplicate`, async () => {
      const first = await ask({ idempotency_key: "service:first" });
      assert.equal(first.result?.status, "accepted", first.line);
      assert.equal(first.result?.source, key.label);
      const again = await ask({ idempotency_key: "service:first" });
      assert.equal(again.result?.status, "duplicate", again.line);
      assert.equal(again.result?.event_id, first.result?.event_id);
    });

    await t.test(`${kit.name}: an invalid lead names its failing fields and does not consume its idempotency key`, async () => {
      const line = { idempotency_key: "service:corrected" };
      const { error } = await ask({ ...line, lead_json: '{"first_name":"Ada","phone":" ","cost":1000}' });
      assert.equal(error?.kind, "invalid_lead");
      assert.deepEqual(error?.fields, { last_name: "required", phone: "required", cost: "out_of_range" });
      assert.equal((await ask(line)).result?.status, "accepted");
    });

    await t.test(`${kit.name}: the vocabulary is the service's`, async () => {
      const { result } = await ask({ call: "vocabulary" });
      assert.equal((result?.areas as unknown[]).length, 37);
      assert.deepEqual(result?.services, ["replacement", "repair", "remodel", "maintain"]);
      assert.deepEqual(result?.required, ["first_name", "last_name", "phone"]);
    });

    await t.test(`${kit.name}: ${posts} posts, ${atOnce} at once, while the service is killed and restarted`, async () => {
      relay.most = relay.sockets.size;
      let answered = 0;
      let revival = Promise.resolve();
      const replies = await inTurns([...Array(posts).keys()], atOnce, async (n) => {
        const reply = await ask({ idempotency_key: `service:${n}` });
        answered += 1;
        if (answered === posts / 4) revival = killAndRevive();
        return reply;
      });
      await revival;
      assert.deepEqual(replies.filter(({ result }) => result === undefined).map(({ line }) => line), []);
      const stored = await events();
      assert.equal(stored.size, posts + 2, "as many events as leads");
      const keysOf = new Set(stored.values());
      assert.equal(keysOf.size, posts + 2, "one event per lead");
      replies.forEach(({ result }, n) =>
        assert.equal(stored.get(String(result?.event_id)), `service:${n}`, "the event that was acknowledged")
      );
      // After the kill the relay may see a new connection before the old one closes.
      assert.ok(relay.most <= 2 * atOnce, `${relay.most} connections at once`);
    });

    await t.test(`${kit.name}: a revoked key is refused`, async () => {
      await testEnv.sql`update api_key set revoked_at = now() where id = ${key.id}`;
      const before = (await events()).size;
      assert.equal((await ask({ call: "check_key" })).result?.verdict, "invalid");
      assert.equal((await ask({ idempotency_key: "service:revoked" })).error?.kind, "unauthorized");
      assert.equal((await events()).size, before);
    });
  });
}

async function killAndRevive(): Promise<void> {
  await service.kill("SIGKILL");
  for (const socket of relay.sockets) socket.destroy();
  service = await testEnv.start(tls);
}
