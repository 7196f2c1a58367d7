import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress } from "../support/client.ts";
import { until } from "../support/until.ts";
import { lead, World } from "../support/world.ts";

/** The order of checks: per-IP limit, method, body cap, key, per-key limit, validation, idempotency, commit. */
const world = await World.open();
const server = await world.start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "2",
  INTAKE_KEY_PER_MINUTE: "1",
  INTAKE_KEY_BURST: "2",
});
const tooLarge = " ".repeat(65_537);
const revoked = await world.issue();
await world.sql`update api_key set revoked_at = now() where id = ${revoked.id}`;

/** An address whose budget is spent. */
async function spentAddress(): Promise<string> {
  const localAddress = freshAddress();
  for (let request = 0; request < 2; request += 1) {
    assert.equal((await world.intake({ localAddress })).status, 401);
  }
  return localAddress;
}

/** A key whose budget is spent. */
async function spentKey() {
  const key = await world.issue();
  for (let request = 0; request < 2; request += 1) {
    assert.equal((await world.intake({ key: key.text, body: {}, localAddress: freshAddress() })).status, 422);
  }
  return key;
}

function refusedByAddress(answer: Answer): void {
  assert.equal(answer.status, 429);
  assert.deepEqual(answer.json, { error: "rate_limited" });
  assert.ok(answer.headers["x-request-id"]);
  assert.doesNotMatch(String(answer.headers["ratelimit-policy"]), /key/);
}

test("the per-IP 429 comes before 405, 413, 401, 400, 422 and the commit", async () => {
  const localAddress = await spentAddress();
  const key = await world.issue();
  await world.leavesNothing(async () => {
    for (const method of ["GET", "PUT", "OPTIONS"]) {
      refusedByAddress(await world.send("/v1/intake", { method, localAddress }));
    }
    refusedByAddress(await world.intake({ localAddress, body: tooLarge }));
    refusedByAddress(await world.intake({ localAddress, body: lead() }));
    refusedByAddress(await world.intake({ localAddress, key: key.text, body: "[]" }));
    refusedByAddress(await world.intake({ localAddress, key: key.text, body: {} }));
    refusedByAddress(await world.intake({ localAddress, key: key.text, body: lead() }));
  });
});

test("405 comes before 413", async () => {
  const answer = await world.send("/v1/intake", {
    method: "PUT",
    localAddress: freshAddress(),
    body: tooLarge,
  });
  assert.equal(answer.status, 405);
});

test("413 comes before 401 and before the per-key 429", async () => {
  for (const key of [undefined, "nonsense", revoked.text, (await spentKey()).text]) {
    const answer = await world.intake({
      ...(key === undefined ? {} : { key }),
      localAddress: freshAddress(),
      body: tooLarge,
    });
    assert.equal(answer.status, 413);
    assert.deepEqual(answer.json, { error: "body_too_large" });
  }
});

test("401 comes before 400 and 422", async () => {
  for (const body of ["[]", {}, lead()]) {
    const answer = await world.leavesNothing(() =>
      world.intake({ key: revoked.text, body, localAddress: freshAddress() })
    );
    assert.equal(answer.status, 401);
    assert.deepEqual(answer.json, { error: "unauthorized", request_id: answer.headers["x-request-id"] });
  }
});

test("the per-key 429 comes after 401 and before 400, 422 and the commit; its body has the request_id", async () => {
  const key = await spentKey();
  await world.leavesNothing(async () => {
    for (const body of ["[]", {}, lead()]) {
      const answer = await world.intake({ key: key.text, body, localAddress: freshAddress() });
      assert.equal(answer.status, 429);
      assert.deepEqual(answer.json, { error: "rate_limited", request_id: answer.headers["x-request-id"] });
      assert.match(String(answer.headers["ratelimit-policy"]), /"ip";.*"key";/);
      assert.equal(Number(answer.headers["retry-after"]) >= 1, true);
    }
    const mistyped = `${key.text.slice(0, -1)}${key.text.endsWith("0") ? "1" : "0"}`;
    const answer = await world.intake({ key: mistyped, body: {}, localAddress: freshAddress() });
    assert.equal(answer.status, 401);
  });
});

test("400 comes before 422, also for a wrong type beside failing fields and a long Idempotency-Key", async () => {
  const answer = await world.intake({
    key: (await world.issue()).text,
    body: { first_name: "", cost: "1" },
    headers: { "Idempotency-Key": "k".repeat(201) },
    localAddress: freshAddress(),
  });
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error, "invalid_json");
});

test("refused requests of every kind spend the address's budget, and public reads do not", async () => {
  const localAddress = freshAddress();
  assert.equal((await world.send("/v1/intake", { localAddress })).status, 405);
  assert.equal((await world.intake({ localAddress, body: tooLarge })).status, 413);
  refusedByAddress(await world.intake({ localAddress }));
  for (let read = 0; read < 5; read += 1) {
    assert.equal((await world.send("/v1/vocabulary", { localAddress })).status, 200);
    assert.equal((await world.send("/healthz", { localAddress })).status, 200);
    assert.equal((await world.send("/nowhere", { localAddress })).status, 404);
  }
});

test("a duplicate spends the budgets like an accepted lead", async () => {
  const key = await world.issue();
  const body = lead();
  const statuses = [];
  for (let post = 0; post < 3; post += 1) {
    statuses.push((await world.intake({ key: key.text, body, localAddress: freshAddress() })).status);
  }
  assert.deepEqual(statuses, [202, 200, 429]);
});

test("every one of these answers is in the access log with its status and request id", async () => {
  const ids = new Map<string, number>();
  const sent = [
    await world.intake({ localAddress: freshAddress() }),
    await world.send("/v1/intake", { localAddress: freshAddress() }),
    await world.intake({ localAddress: freshAddress(), body: tooLarge }),
    await world.intake({ localAddress: await spentAddress() }),
    await world.send("/nowhere"),
  ];
  for (const { headers, status } of sent) ids.set(String(headers["x-request-id"]), status);
  await until(() => {
    const logged = server.logs.filter((line) => ids.has(String(line.request_id)));
    return logged.length === ids.size &&
      logged.every((line) => line.status === ids.get(String(line.request_id)));
  }, { what: "the access log has them all" });
});
