import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress, type RequestOptions } from "../support/client.ts";
import { TestEnv, visitor } from "../support/test_env.ts";

/** The order of checks: per-IP limit, method, body cap, key, tenant, per-tenant limit, form, body, commit. */
const testEnv = await TestEnv.open();
await testEnv.start({
  FORMS_IP_PER_MINUTE: "1",
  FORMS_IP_BURST: "2",
  FORMS_TENANT_PER_MINUTE: "1",
  FORMS_TENANT_BURST: "2",
});
const tooLarge = " ".repeat(65_537);
const nowhere = { formKey: "nowhere" };

/** Returns a form, a key of its tenant and a revoked one. */
async function fresh() {
  const { form, key } = await testEnv.formWithKey();
  const revoked = await testEnv.issue({ tenant: form.tenant, surface: "forms" });
  await testEnv.sql`update api_key set revoked_at = now() where id = ${revoked.id}`;
  const submit = (options: RequestOptions, to: Partial<typeof form> = {}) =>
    testEnv.submit({ ...form, ...to }, { localAddress: freshAddress(), ...options });
  return { form, key: key.text, revoked: revoked.text, submit };
}

/** Returns a tenant that has spent its budget. */
async function spent() {
  const parts = await fresh();
  for (let request = 0; request < 2; request += 1) {
    assert.equal((await parts.submit({ key: parts.key, body: {} })).status, 400);
  }
  return parts;
}

const told = ({ status, json }: Answer) => [status, json.error];
const elsewhere = { tenant: { id: 0, slug: "somebody-else" } };

test("the per-IP 429 precedes 405, 413, 401, 403, 404, 400 and the commit", async () => {
  const localAddress = freshAddress();
  const { form, key, revoked, submit } = await fresh();
  for (let request = 0; request < 2; request += 1) {
    assert.deepEqual(told(await submit({ body: {}, localAddress })), [401, "unauthorized"]);
  }
  await testEnv.leavesNothing(async () => {
    const path = `/v1/forms/${form.tenant.slug}/${form.formKey}`;
    const answers = [
      await testEnv.sendToForms(path, { localAddress }),
      await testEnv.sendToForms(path, { method: "OPTIONS", localAddress }),
      await submit({ key, body: tooLarge, localAddress }),
      await submit({ key: revoked, body: visitor(), localAddress }),
      await submit({ key, body: visitor(), localAddress }, elsewhere),
      await submit({ key, body: visitor(), localAddress }, nowhere),
      await submit({ key, body: "[]", localAddress }),
      await submit({ key, body: {}, localAddress }),
      await submit({ key, body: visitor(), localAddress }),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 429);
      assert.equal(answer.text, '{"error":"rate_limited"}');
      assert.match(String(answer.headers["ratelimit-policy"]), /^"ip";q=1;w=60$/);
    }
  });
});

test("405 precedes 413, and both precede 401", async () => {
  const { form, submit } = await fresh();
  const path = `/v1/forms/${form.tenant.slug}/${form.formKey}`;
  const localAddress = freshAddress();
  const put = await testEnv.sendToForms(path, { method: "PUT", body: tooLarge, localAddress });
  assert.deepEqual(told(put), [405, "method_not_allowed"]);
  for (const key of [undefined, "nonsense"]) {
    const answer = await submit({ ...(key === undefined ? {} : { key }), body: tooLarge });
    assert.equal(answer.status, 413);
    assert.equal(answer.text, '{"error":"body_too_large"}');
  }
});

test("413 precedes 403, the per-tenant 429, 404 and 400", async () => {
  const { key, submit } = await spent();
  for (const to of [{}, elsewhere, nowhere]) {
    assert.equal((await submit({ key, body: tooLarge }, to)).status, 413);
  }
});

test("401 precedes 403, the per-tenant 429, 404, 400 and the commit", async () => {
  const { revoked, submit } = await spent();
  await testEnv.leavesNothing(async () => {
    for (const to of [{}, elsewhere, nowhere]) {
      for (const body of ["[]", {}, visitor()]) {
        assert.deepEqual(told(await submit({ key: revoked, body }, to)), [401, "unauthorized"]);
      }
    }
  });
});

test("403 precedes the per-tenant 429, 404, 400 and the commit, and spends no tenant budget", async () => {
  const out = await spent();
  const { key, submit } = await fresh();
  await testEnv.leavesNothing(async () => {
    for (const body of ["[]", {}, visitor()]) {
      assert.deepEqual(told(await out.submit({ key: out.key, body }, elsewhere)), [403, "tenant_mismatch"]);
      assert.deepEqual(
        told(await submit({ key, body }, { ...elsewhere, ...nowhere })),
        [403, "tenant_mismatch"],
      );
    }
  });
  assert.equal((await submit({ key, body: visitor() })).status, 202);
  assert.equal((await submit({ key, body: visitor() })).status, 202);
  assert.equal((await submit({ key, body: visitor() })).status, 429);
});

test("the per-tenant 429 precedes 404, 400 and the commit, and its body has the request_id", async () => {
  const { key, submit } = await spent();
  await testEnv.leavesNothing(async () => {
    for (const to of [{}, nowhere]) {
      for (const body of ["[]", {}, visitor()]) {
        const answer = await submit({ key, body }, to);
        assert.equal(answer.status, 429);
        assert.deepEqual(answer.json, {
          error: "rate_limited",
          request_id: answer.headers["x-request-id"],
        });
        assert.match(String(answer.headers["ratelimit-policy"]), /^"ip";q=1;w=60, "tenant";q=1;w=60$/);
      }
    }
  });
});

test("404 precedes 400 and the commit", async () => {
  await testEnv.leavesNothing(async () => {
    for (const body of ["[]", {}, visitor()]) {
      const { key, submit } = await fresh();
      assert.deepEqual(told(await submit({ key, body }, nowhere)), [404, "form_not_found"]);
    }
  });
});

test("400 invalid_json precedes missing_required, and that precedes an Idempotency-Key over 200 characters", async () => {
  const headers = { "Idempotency-Key": "k".repeat(201) };
  const post = async (body: unknown) => {
    const { key, submit } = await fresh();
    return await submit({ key, body, headers });
  };
  await testEnv.leavesNothing(async () => {
    const notFlat = await post('{"name":"","x":[]}');
    assert.deepEqual([notFlat.json.error, notFlat.json.fields], ["invalid_json", undefined]);
    const missing = await post({ name: "Ada" });
    assert.deepEqual([missing.json.error, missing.json.fields], ["missing_required", { email: "required" }]);
    const long = await post(visitor());
    assert.deepEqual([long.json.error, long.json.fields], ["invalid_json", {
      "Idempotency-Key": "too_long",
    }]);
  });
});

test("required fields precede the honeypot and the score: an incomplete bot post is 400 and stores nothing", async () => {
  const { key, submit } = await fresh();
  await testEnv.leavesNothing(async () => {
    const answer = await submit({ key, body: { name: "x", website: "http://spam.example" } });
    assert.deepEqual(told(answer), [400, "missing_required"]);
  });
});
