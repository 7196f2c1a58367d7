import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const second = await testEnv.start();
const options = { databaseUrl: testEnv.database.url };

const areas = async (server = second): Promise<{ area: string; status: string }[]> =>
  (await testEnv.send("/v1/vocabulary", {}, server)).json.project_area;

test("GET /v1/vocabulary answers 37 areas, the four services and the three required fields", async () => {
  const answer = await testEnv.send("/v1/vocabulary");
  assert.equal(answer.status, 200);
  assert.deepEqual(Object.keys(answer.json), ["project_area", "project_service", "required"]);
  assert.equal(answer.json.project_area.length, 37);
  for (const area of answer.json.project_area) {
    assert.deepEqual(Object.keys(area), ["area", "status"]);
    assert.equal(area.status, "confirmed");
  }
  assert.deepEqual(answer.json.project_service, ["replacement", "repair", "remodel", "maintain"]);
  assert.deepEqual(answer.json.required, ["first_name", "last_name", "phone"]);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "public, max-age=300");
});

test("GET /healthz answers ok, pending, dead and store_writable, uncacheable", async () => {
  const answer = await testEnv.send("/healthz");
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, { ok: true, pending: 0, dead: 0, store_writable: true });
  assert.deepEqual(Object.keys(answer.json), ["ok", "pending", "dead", "store_writable"]);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "no-store");
});

for (const path of ["/v1/vocabulary", "/healthz"]) {
  test(`${path} needs no key, accepts a query, and any origin may read it`, async () => {
    for (const key of [undefined, "nonsense"]) {
      const answer = await testEnv.send(`${path}?x=1`, {
        ...(key === undefined ? {} : { key }),
        headers: { "Origin": "https://elsewhere.example" },
      });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["access-control-allow-origin"], "*");
    }
  });

  test(`HEAD ${path} has the headers of GET and no body`, async () => {
    const got = await testEnv.send(path);
    const head = await testEnv.send(path, { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(head.text, "");
    for (const name of ["content-type", "content-length", "cache-control", "access-control-allow-origin"]) {
      assert.equal(head.headers[name], got.headers[name], name);
    }
  });

  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    test(`${method} ${path} answers 405 with Allow: GET, HEAD`, async () => {
      const answer = await testEnv.send(path, { method });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.allow, "GET, HEAD");
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      assert.deepEqual(answer.json, {
        error: "method_not_allowed",
        request_id: answer.headers["x-request-id"],
      });
    });
  }

  test(`${path}/ is 404`, async () => {
    const answer = await testEnv.send(`${path}/`);
    assert.equal(answer.status, 404);
    assert.equal(answer.json.error, "not_found");
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  });
}

test("GET / of the intake redirects to the playground, and any other method is 404", async () => {
  for (const method of ["GET", "HEAD"]) {
    const answer = await send(`${second.url}/`, { method });
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.location, "/api");
    assert.equal(answer.headers["cache-control"], "no-store");
  }
  for (const method of ["POST", "OPTIONS", "DELETE"]) {
    const answer = await send(`${second.url}/`, { method });
    assert.deepEqual([answer.status, answer.json.error], [404, "not_found"]);
    assert.equal(answer.headers.allow, undefined);
  }
});

test("a term added by ctl is listed and accepted by every server within 5 s", async () => {
  const key = await testEnv.issue();
  const post = (project_area: string) =>
    testEnv.intake({ key: key.text, body: lead({ project_area }) }, second);
  assert.deepEqual((await post("Sun Room")).json.flags, ["project_area_unknown"]);
  await ctl(["vocabulary", "add", "sun room", "--status", "proposed"], options);
  await until(async () => (await areas()).some(({ area }) => area === "sun room"));
  assert.deepEqual((await areas()).find(({ area }) => area === "sun room"), {
    area: "sun room",
    status: "proposed",
  });
  const known = await post("  SUN   room ");
  assert.deepEqual(known.json.flags, []);
  assert.equal((await testEnv.event(known.json.event_id)).lead.project_area, "sun room");
  await ctl(["vocabulary", "confirm", "sun room"], options);
  await until(async () => (await areas()).find(({ area }) => area === "sun room")?.status === "confirmed");
});

test("a retired term is not listed and is unknown: stored as sent, flagged and counted", async () => {
  const key = await testEnv.issue();
  await ctl(["vocabulary", "retire", "chimney"], options);
  await until(async () => !(await areas()).some(({ area }) => area === "chimney"));
  const answer = await testEnv.intake({ key: key.text, body: lead({ project_area: "Chimney" }) }, second);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.json.flags, ["project_area_unknown"]);
  assert.equal((await testEnv.event(answer.json.event_id)).lead.project_area, "Chimney");
});

test("unknown areas are counted by tenant and term, and not again for a duplicate", async () => {
  const key = await testEnv.issue();
  const sister = await testEnv.issue({ tenant: key.tenant });
  const stranger = await testEnv.issue();
  const posts = [
    ...Array.from({ length: 30 }, (_, n) => ({ by: n % 2 === 0 ? key : sister, project_area: "Moat" })),
    { by: key, project_area: "moat" },
    { by: stranger, project_area: "Moat" },
    { by: stranger, project_area: "kitchen" },
    { by: stranger, project_area: " " },
  ];
  const bodies = posts.map(({ project_area }) => lead({ project_area }));
  await Promise.all(
    posts.map(({ by }, index) =>
      testEnv.intake({ key: by.text, body: bodies[index] }, index % 3 === 0 ? undefined : second)
    ),
  );
  // Again, together with new leads, so that they share commits.
  const repeats = posts.flatMap(({ by }, index) => [
    testEnv.intake({ key: by.text, body: bodies[index] }),
    testEnv.intake({ key: by.text, body: lead() }),
  ]);
  for (const [index, { status }] of (await Promise.all(repeats)).entries()) {
    assert.equal(status, index % 2 === 0 ? 200 : 202);
  }
  await testEnv.indexed();
  const counted = await testEnv.sql`
    select tenant_id, term, count::int, first_at <= last_at as ordered from unknown_area
    where lower(term) = 'moat' order by tenant_id, term collate "C"`;
  assert.deepEqual([...counted], [
    { tenant_id: key.tenant.id, term: "Moat", count: 30, ordered: true },
    { tenant_id: key.tenant.id, term: "moat", count: 1, ordered: true },
    { tenant_id: stranger.tenant.id, term: "Moat", count: 1, ordered: true },
  ]);
});

test("pending counts the accepted leads that are not delivered", async () => {
  const key = await testEnv.issue();
  const { outbox } = await testEnv.stored();
  for (let n = 0; n < 3; n += 1) await testEnv.intake({ key: key.text, body: lead() });
  await until(async () => (await testEnv.send("/healthz")).json.pending === outbox + 3);
  assert.equal((await testEnv.send("/healthz")).json.ok, true);
});
