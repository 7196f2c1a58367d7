import assert from "node:assert/strict";
import { test } from "node:test";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const { form, key } = await testEnv.formWithKey();
const on = { databaseUrl: testEnv.database.url };

/** Returns the bytes of texts and numbers. */
const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

test("a form's fields answer 202 with the submission's id and time, and are stored in one transaction", async () => {
  const body = visitor({ phone: "(555) 123-4567", size: 1.5, consent: true, company: null });
  const answer = await testEnv.submit(form, { key: key.text, body });
  assert.equal(answer.status, 202, answer.text);
  const { submission_id, received_at } = answer.json;
  const [found, event] = [await testEnv.submission(submission_id), await testEnv.event(submission_id)];
  assert.deepEqual([found.verdict, found.form_id, found.tenant_id, found.queued], [
    "clean",
    form.id,
    form.tenant.id,
    1,
  ]);
  assert.deepEqual([found.phone, found.email, found.name], [
    "+15551234567",
    "grace@example.com",
    "zmarker\tgrace zmarker",
  ]);
  assert.equal(found.transaction, event.transaction);
  assert.equal(event.received_at.toISOString(), received_at);
  assert.equal(event.lead_text, JSON.stringify(body));
  assert.deepEqual(JSON.parse(String(event.extra)), { form_key: "contact", attribution: {} });
  assert.equal(event.raw, JSON.stringify(body));
  assert.deepEqual(event.flags, []);
});

test("lead show returns a submission as posted, with every digit, without form_key or an empty website", async () => {
  const raw =
    `\ufeff{ "form_key":"other", "website":" ", "name":"Ada\\u0000 Zmarker ", "email":"a@b.example",` +
    ` "n":12345678901234567890, "p":1.10, "__proto__":"x", "p":1.20,` +
    ` "page_url":"https://acme.example/?utm_source=ads&gclid=G1", "referrer":"/?utm_source=r&utm_term=roof" }`;
  const { status, json } = await testEnv.submit(form, { key: key.text, body: raw });
  assert.equal(status, 202);
  const event = await testEnv.event(json.submission_id);
  assert.equal(
    event.lead_text,
    '{"name":"Ada Zmarker ","email":"a@b.example","n":12345678901234567890,"p":1.20,"__proto__":"x",' +
      '"page_url":"https://acme.example/?utm_source=ads&gclid=G1","referrer":"/?utm_source=r&utm_term=roof"}',
  );
  const shown = await ctl(["lead", "show", json.submission_id], on);
  assert.deepEqual(shown.extra, {
    form_key: "contact",
    attribution: { gclid: "G1", utm_source: "ads", utm_term: "roof" },
  });
  assert.equal(shown.raw, raw);
  assert.equal(shown.form_key, "contact");
  assert.equal(shown.verdict, "clean");
  assert.ok("submission" in shown && !("lead" in shown));
  const { stdout } = await runCtl(["lead", "show", json.submission_id], on);
  assert.match(stdout, /^ {2}n +12345678901234567890\n {2}p +1\.20$/m);
});

test("a malformed email address is stored as sent and flagged, and the response is the same", async () => {
  for (const [email, flags] of [["ada@example", ["email_shape_suspect"]], ["ada@example.com", []]] as const) {
    const { status, json } = await testEnv.submit(form, { key: key.text, body: visitor({ email }) });
    assert.equal(status, 202);
    assert.deepEqual(Object.keys(json), ["status", "submission_id", "received_at"]);
    const shown = await ctl(["lead", "show", json.submission_id], on);
    assert.deepEqual([shown.submission.email, shown.flags], [email, flags]);
  }
});

test("400 invalid_json: no object, not flat, not JSON, not UTF-8, too deep, encoded, no body", async () => {
  const flat = JSON.stringify(visitor());
  await testEnv.leavesNothing(async () => {
    const deep = /^line 1, column \d+: nested deeper than 64 levels$/;
    const notUtf8 = /^the body is not UTF-8; it may be Latin-1 or Windows-1252: line 1, column 10$/;
    for (
      const [body, detail] of [
        ["", /^the body is empty; send a JSON object$/],
        ["[]", /^the body is an array; send one submission per request, as an object$/],
        ["1", /^the body is a number; send a JSON object$/],
        ["null", /^the body is null; send a JSON object$/],
        ["{", /^line 1, column 1: an object without its closing }/],
        ['{"name":"a",}', /^line 1, column 12: a trailing comma; remove it$/],
        ['{"name":["a"]}', /^name is an array; a string, number, boolean or null is needed$/],
        ['{"name":{"a":"b"}}', /^name is an object; a string, number, boolean or null is needed$/],
        ["name=Ada", /^the body is form-encoded; send a JSON object$/],
        [bytes('{"name":"', [0xff], '"}'), notUtf8],
        [bytes('{"name":"', [0xed, 0xa0, 0x80], '"}'), notUtf8],
        [bytes([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), /^the body is UTF-16; send UTF-8$/],
        ['{"name":"a\u0000b"}', /^line 1, column 11: a control character in a string/],
        [`{"a":${"[".repeat(30_000)}`, deep],
        [`{"a":${'{"a":'.repeat(8_000)}1${"}".repeat(8_001)}`, deep],
      ] as const
    ) {
      const answer = await testEnv.submit(form, { key: key.text, body });
      assert.equal(answer.status, 400, String(body));
      assert.deepEqual(Object.keys(answer.json), ["error", "request_id", "detail"]);
      assert.equal(answer.json.error, "invalid_json", String(body));
      assert.match(answer.json.detail, detail);
    }
    for (const encoding of ["gzip", "br", "identity, gzip"]) {
      const headers = { "Content-Encoding": encoding };
      assert.equal(
        (await testEnv.submit(form, { key: key.text, body: flat, headers })).status,
        400,
        encoding,
      );
    }
  });
  const headers = { "Content-Encoding": "Identity" };
  assert.equal((await testEnv.submit(form, { key: key.text, body: flat, headers })).status, 202);
});

test("400 missing_required suggests the field probably meant, and 400 invalid_json escapes the caller's field name", async () => {
  await testEnv.leavesNothing(async () => {
    const { name, email, ...rest } = visitor();
    const misspelled = await testEnv.submit(form, { key: key.text, body: { ...rest, name, Email: email } });
    assert.equal(misspelled.status, 400);
    assert.equal(
      misspelled.text,
      `{"error":"missing_required","request_id":"${misspelled.json.request_id}","fields":{"email":"required"},` +
        `"detail":"Email is not a required field of the form; email is"}`,
    );
    const hostile = await testEnv.submit(form, {
      key: key.text,
      body: { [`\u202e\n${"x".repeat(100)}`]: [] },
    });
    const shown = `"\\u{202e}\\u{a}${"x".repeat(62)}…"`;
    assert.equal(hostile.json.detail, `${shown} is an array; a string, number, boolean or null is needed`);
  });
});

test("400 missing_required lists the missing fields in the form's order and stores nothing", async () => {
  const { form, key } = await testEnv.formWithKey({ required: ["name", "zip", "__proto__", "email"] });
  await testEnv.leavesNothing(async () => {
    const answer = await testEnv.submit(form, {
      key: key.text,
      body: { email: "a@b.example", zip: " \u3000" },
    });
    assert.equal(answer.status, 400);
    assert.equal(
      answer.text,
      `{"error":"missing_required","request_id":"${answer.json.request_id}",` +
        `"fields":{"name":"required","zip":"required","__proto__":"required"}}`,
    );
    for (const body of [{}, { form_key: "contact" }, { website: "" }]) {
      const probe = await testEnv.submit(form, { key: key.text, body });
      assert.deepEqual(Object.keys(probe.json.fields), ["name", "zip", "__proto__", "email"]);
    }
  });
  const body = '{"name":0,"zip":false,"__proto__":"x","email":"-"}';
  assert.equal((await testEnv.submit(form, { key: key.text, body })).status, 202, "0 and false are answers");
});

test("the tenant and the form key in the path are compared exactly", async () => {
  const { formKey, tenant } = form;
  const post = (path: string) =>
    testEnv.sendToForms(path, { method: "POST", key: key.text, body: visitor() });
  await testEnv.leavesNothing(async () => {
    for (
      const [path, status, code] of [
        [`/v1/forms/${tenant.slug}/CONTACT`, 404, "form_not_found"],
        [`/v1/forms/${tenant.slug}/%63ontact`, 404, "form_not_found"],
        [`/v1/forms/${tenant.slug}/contact%2f`, 404, "form_not_found"],
        [`/v1/forms/${tenant.slug}/contact;x`, 404, "form_not_found"],
        [`/v1/forms/${tenant.slug}/${"c".repeat(2_000)}`, 404, "form_not_found"],
        [`/v1/forms/%74enant-1/${formKey}`, 403, "tenant_mismatch"],
        [`/v1/forms/${tenant.slug.toUpperCase()}/${formKey}`, 403, "tenant_mismatch"],
        [`/v1/forms/${tenant.slug}/${formKey}/`, 404, "not_found"],
        [`/v1/forms/${tenant.slug}/`, 404, "not_found"],
        [`/v1/forms/${tenant.slug}`, 404, "not_found"],
        [`/V1/forms/${tenant.slug}/${formKey}`, 404, "not_found"],
        ["/v1/intake", 404, "not_found"],
        ["/v1/vocabulary", 404, "not_found"],
      ] as const
    ) {
      const answer = await post(path);
      assert.deepEqual([answer.status, answer.json.error], [status, code], path);
    }
  });
  assert.equal(
    (await post(`/v1/forms/${tenant.slug}/${formKey}?x=1`)).status,
    202,
    "a query is no part of it",
  );
});

test("a changed or removed form takes effect in every process within 5 s, without a restart", async () => {
  const { form, key } = await testEnv.formWithKey();
  const post = async () => {
    const answer = await testEnv.submit(form, { key: key.text, body: visitor() });
    return answer.json.error ?? answer.status;
  };
  assert.equal(await post(), 202);
  const name = [form.tenant.slug, form.formKey];
  await ctl(["form", "change", ...name, "--required", "name,colour"], on);
  await until(async () => await post() === "missing_required", { intervalMs: 200 });
  await ctl(["form", "remove", ...name], on);
  await until(async () => await post() === "form_not_found", { intervalMs: 200 });
  await ctl(["form", "add", ...name, "--required", "name"], on);
  assert.equal(await post(), 202, "back at once");
});

test("other methods answer 405 with Allow, OPTIONS too; there is no CORS", async () => {
  const path = `/v1/forms/${form.tenant.slug}/${form.formKey}`;
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
    const headers = { Origin: "https://acme.example", "Access-Control-Request-Method": "POST" };
    const answer = await (method === "HEAD"
      ? testEnv.sendToForms(path).then((get) => ({ ...get, method }))
      : testEnv.sendToForms(path, { method, headers }));
    assert.equal(answer.status, 405, method);
    assert.equal(answer.headers.allow, "POST");
  }
});

test("GET and HEAD /healthz answer 200 with the plain text ok, without a limit; other methods are refused", async () => {
  for (let read = 0; read < 3; read++) {
    const { status, text, headers } = await testEnv.sendToForms("/healthz", { localAddress: "127.7.7.7" });
    assert.deepEqual([status, text, headers["content-length"]], [200, "ok", "2"]);
  }
  const head = await testEnv.sendToForms("/healthz", { method: "HEAD" });
  assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "2"]);
  const { status, headers } = await testEnv.sendToForms("/healthz", { method: "POST" });
  assert.deepEqual([status, headers.allow], [405, "GET, HEAD"]);
});

test("X-Request-Id is adopted in the header, error body and access log; the logged route is no path", async () => {
  const headers = { "X-Request-Id": "site-7" };
  const answer = await testEnv.submit(form, { key: key.text, body: {}, headers });
  assert.equal(answer.headers["x-request-id"], "site-7");
  assert.equal(answer.json.request_id, "site-7");
  const line = await until(() => server.logs.find(({ request_id }) => request_id === "site-7"));
  assert.deepEqual([line.surface, line.route, line.status, line.key_id], [
    "forms",
    "/v1/forms/{tenant}/{form_key}",
    400,
    String(key.id),
  ]);
  assert.ok(!JSON.stringify(line).includes(form.tenant.slug), "the path as sent is not logged");
});
