import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress } from "../support/client.ts";
import { until } from "../support/until.ts";
import { lead, TestEnv } from "../support/test_env.ts";

/** The order of checks: per-IP limit, method, body cap, key, per-key limit, validation, idempotency, commit. */
const testEnv = await TestEnv.open();
const server = await testEnv.start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "2",
  INTAKE_KEY_PER_MINUTE: "1",
  INTAKE_KEY_BURST: "2",
});
const tooLarge = " ".repeat(65_537);
const revoked = await testEnv.issue();
await testEnv.sql`update api_key set revoked_at = now() where id = ${revoked.id}`;

/** Returns an address that has spent its budget. */
async function spentAddress(): Promise<string> {
  const localAddress = freshAddress();
  for (let request = 0; request < 2; request += 1) {
    assert.equal((await testEnv.intake({ localAddress })).status, 401);
  }
  return localAddress;
}

/** Returns a key that has spent its budget. */
async function spentKey() {
  const key = await testEnv.issue();
  for (let request = 0; request < 2; request += 1) {
    assert.equal(
      (await testEnv.intake({ key: key.text, body: {}, localAddress: freshAddress() })).status,
      422,
    );
  }
  return key;
}

function refusedByAddress(answer: Answer): void {
  assert.equal(answer.status, 429);
  assert.deepEqual(answer.json, { error: "rate_limited" });
  assert.ok(answer.headers["x-request-id"]);
  assert.doesNotMatch(String(answer.headers["ratelimit-policy"]), /key/);
}

test("the per-IP 429 precedes 405, 413, 401, 400, 422 and the commit", async () => {
  const localAddress = await spentAddress();
  const key = await testEnv.issue();
  await testEnv.leavesNothing(async () => {
    for (const method of ["GET", "PUT", "OPTIONS"]) {
      refusedByAddress(await testEnv.send("/v1/intake", { method, localAddress }));
    }
    refusedByAddress(await testEnv.intake({ localAddress, body: tooLarge }));
    refusedByAddress(await testEnv.intake({ localAddress, body: lead() }));
    refusedByAddress(await testEnv.intake({ localAddress, key: key.text, body: "[]" }));
    refusedByAddress(await testEnv.intake({ localAddress, key: key.text, body: {} }));
    refusedByAddress(await testEnv.intake({ localAddress, key: key.text, body: lead() }));
  });
});

test("405 precedes 413", async () => {
  const answer = await testEnv.send("/v1/intake", {
    method: "PUT",
    localAddress: freshAddress(),
    body: tooLarge,
  });
  assert.equal(answer.status, 405);
});

test("413 precedes 401 and the per-key 429", async () => {
  for (const key of [undefined, "nonsense", revoked.text, (await spentKey()).text]) {
    const answer = await testEnv.intake({
      ...(key === undefined ? {} : { key }),
      localAddress: freshAddress(),
      body: tooLarge,
    });
    assert.equal(answer.status, 413);
    assert.deepEqual(answer.json, { error: "body_too_large" });
  }
});

test("401 precedes 400 and 422", async () => {
  for (const body of ["[]", {}, lead()]) {
    const answer = await testEnv.leavesNothing(() =>
      testEnv.intake({ key: revoked.text, body, localAddress: freshAddress() })
    );
    assert.equal(answer.status, 401);
    assert.deepEqual(answer.json, { error: "unauthorized", request_id: answer.headers["x-request-id"] });
  }
});

test("the per-key 429 follows 401 and precedes 400, 422 and the commit; its body has the request_id", async () => {
  const key = await spentKey();
  await testEnv.leavesNothing(async () => {
    for (const body of ["[]", {}, lead()]) {
      const answer = await testEnv.intake({ key: key.text, body, localAddress: freshAddress() });
      assert.equal(answer.status, 429);
      assert.deepEqual(answer.json, { error: "rate_limited", request_id: answer.headers["x-request-id"] });
      assert.match(String(answer.headers["ratelimit-policy"]), /"ip";.*"key";/);
      assert.equal(Number(answer.headers["retry-after"]) >= 1, true);
    }
    const mistyped = `${key.text.slice(0, -1)}${key.text.endsWith("0") ? "1" : "0"}`;
    const answer = await testEnv.intake({ key: mistyped, body: {}, localAddress: freshAddress() });
    assert.equal(answer.status, 401);
  });
});

test("400 precedes 422, even for a wrong type alongside invalid fields and an overlong Idempotency-Key", async () => {
  const answer = await testEnv.intake({
    key: (await testEnv.issue()).text,
    body: { first_name: "", cost: "1" },
    headers: { "Idempotency-Key": "k".repeat(201) },
    localAddress: freshAddress(),
  });
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error, "invalid_json");
});

test("requests refused with 405 or 413 spend the address's budget; public reads do not", async () => {
  const localAddress = freshAddress();
  assert.equal((await testEnv.send("/v1/intake", { localAddress })).status, 405);
  assert.equal((await testEnv.intake({ localAddress, body: tooLarge })).status, 413);
  refusedByAddress(await testEnv.intake({ localAddress }));
  for (let read = 0; read < 5; read += 1) {
    assert.equal((await testEnv.send("/v1/vocabulary", { localAddress })).status, 200);
    assert.equal((await testEnv.send("/healthz", { localAddress })).status, 200);
    assert.equal((await testEnv.send("/nowhere", { localAddress })).status, 404);
  }
});

test("a duplicate spends the key's budget like a new lead", async () => {
  const key = await testEnv.issue();
  const body = lead();
  const statuses = [];
  for (let post = 0; post < 3; post += 1) {
    statuses.push((await testEnv.intake({ key: key.text, body, localAddress: freshAddress() })).status);
  }
  assert.deepEqual(statuses, [202, 200, 429]);
});

test("every refusal is in the access log with its status and request id", async () => {
  const ids = new Map<string, number>();
  const sent = [
    await testEnv.intake({ localAddress: freshAddress() }),
    await testEnv.send("/v1/intake", { localAddress: freshAddress() }),
    await testEnv.intake({ localAddress: freshAddress(), body: tooLarge }),
    await testEnv.intake({ localAddress: await spentAddress() }),
    await testEnv.send("/nowhere"),
  ];
  for (const { headers, status } of sent) ids.set(String(headers["x-request-id"]), status);
  await until(() => {
    const logged = server.logs.filter((line) => ids.has(String(line.request_id)));
    return logged.length === ids.size &&
      logged.every((line) => line.status === ids.get(String(line.request_id)));
  }, { what: "the access log has them all" });
});
