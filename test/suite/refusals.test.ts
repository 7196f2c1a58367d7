import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { exchangeRaw } from "../support/http/raw_connection.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const key = await testEnv.issue();

/** Returns a lead of exactly this many bytes. */
function leadOfBytes(bytes: number): string {
  const start = JSON.stringify(lead()).replace("}", ',"project_details":"');
  return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}

/** Bodies that `test/vectors/lead.json` cannot contain, or that stand for a class of them, with their `detail`. */
const notLeads: Readonly<Record<string, readonly [body: string | Uint8Array, detail: string]>> = {
  "a trailing comma": ['{\n  "first_name":"Ada",\n}', "line 2, column 21: a trailing comma; remove it"],
  "a string for the cost": [
    JSON.stringify(lead({ cost: "12.50" })),
    "cost is a string; a number is needed, without quotes",
  ],
  "bytes that are not UTF-8": [
    new Uint8Array([...Buffer.from('{"first_name":"'), 0xff, 0x22, 0x7d]),
    "the body is not UTF-8; it may be Latin-1 or Windows-1252: line 1, column 16",
  ],
  "UTF-16": [
    new Uint8Array(Buffer.from(`\ufeff${JSON.stringify(lead())}`, "utf16le")),
    "the body is UTF-16; send UTF-8",
  ],
  "bytes of gzip without a Content-Encoding": [
    gzipSync(JSON.stringify(lead())),
    "the body is compressed; send it uncompressed",
  ],
  "30,000 levels": [
    `{"deep":${"[".repeat(30_000)}${"]".repeat(30_000)}}`,
    "line 1, column 72: nested deeper than 64 levels",
  ],
};

for (const [what, [body, detail]] of Object.entries(notLeads)) {
  test(`POST /v1/intake with ${what} answers 400 invalid_json with a detail and stores nothing`, async () => {
    await testEnv.leavesNothing(async () => {
      const answer = await testEnv.intake({ key: key.text, body });
      assert.equal(answer.status, 400);
      assert.equal(
        answer.text,
        JSON.stringify({ error: "invalid_json", request_id: answer.headers["x-request-id"], detail }),
      );
    });
  });
}

test("a 422 suggests the correct name of a misspelled field; the key check has no detail", async () => {
  const { first_name, phone, ...rest } = lead();
  await testEnv.leavesNothing(async () => {
    const body = { ...rest, firstName: first_name, phone_number: phone };
    const answer = await testEnv.intake({ key: key.text, body });
    assert.equal(answer.status, 422);
    assert.equal(
      answer.text,
      JSON.stringify({
        error: "validation_failed",
        request_id: answer.headers["x-request-id"],
        fields: { first_name: "required", phone: "required" },
        detail:
          "firstName is no field of a lead; first_name is. phone_number is no field of a lead; phone is",
      }),
    );
    assert.equal((await testEnv.intake({ key: key.text, body: {} })).json.detail, undefined);
  });
});

test("a body with a Content-Encoding answers 400 invalid_json, except identity", async () => {
  const body = gzipSync(JSON.stringify(lead()));
  const packed = await testEnv.intake({ key: key.text, body, headers: { "Content-Encoding": "gzip" } });
  assert.equal(packed.status, 400);
  assert.equal(
    packed.json.detail,
    "the body has a Content-Encoding; send it uncompressed, without that header",
  );
  const claimed = await testEnv.intake({
    key: key.text,
    body: lead(),
    headers: { "Content-Encoding": "br" },
  });
  assert.equal(claimed.json.error, "invalid_json");
  const plain = await testEnv.intake({
    key: key.text,
    body: lead(),
    headers: { "Content-Encoding": "Identity" },
  });
  assert.equal(plain.status, 202);
});

test("POST /v1/intake answers 422 naming every failing field and consumes no Idempotency-Key", async () => {
  const headers = { "Idempotency-Key": freshKey() };
  const body = {
    first_name: "x".repeat(101),
    last_name: " \t ",
    phone: null,
    email: "e".repeat(255),
    city: "c".repeat(101),
    project_details: "d".repeat(16_001),
    cost: 1000,
  };
  const refused = await testEnv.leavesNothing(() => testEnv.intake({ key: key.text, body, headers }));
  assert.equal(refused.status, 422);
  assert.deepEqual(refused.json, {
    error: "validation_failed",
    request_id: refused.headers["x-request-id"],
    fields: {
      first_name: "too_long",
      last_name: "required",
      phone: "required",
      email: "too_long",
      city: "too_long",
      project_details: "too_long",
      cost: "out_of_range",
    },
    detail:
      "first_name has 101 characters; at most 100 are allowed. email has 255 characters; at most 254 are allowed. " +
      "city has 101 characters; at most 100 are allowed. project_details has 16,001 characters; at most 16,000 are allowed. " +
      "cost is out of range; it must be between 0.01 and 999.99",
  });
  const accepted = await testEnv.intake({ key: key.text, body: lead(), headers });
  assert.equal(accepted.status, 202);
});

test("a used Idempotency-Key with an invalid body answers 422 or 400: validation comes first", async () => {
  const headers = { "Idempotency-Key": freshKey() };
  assert.equal((await testEnv.intake({ key: key.text, body: lead(), headers })).status, 202);
  await testEnv.leavesNothing(async () => {
    assert.equal((await testEnv.intake({ key: key.text, body: {}, headers })).status, 422);
    assert.equal((await testEnv.intake({ key: key.text, body: "[]", headers })).status, 400);
  });
});

for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
  test(`${method} /v1/intake answers 405 with Allow: POST and no CORS header`, async () => {
    const answer = await testEnv.leavesNothing(() =>
      testEnv.send("/v1/intake", {
        method,
        key: key.text,
        headers: { "Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST" },
      })
    );
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, "POST");
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
    assert.equal(answer.headers["access-control-allow-methods"], undefined);
    if (method === "HEAD") assert.equal(answer.text, "");
    else {
      assert.deepEqual(answer.json, {
        error: "method_not_allowed",
        request_id: answer.headers["x-request-id"],
      });
    }
  });
}

test("a body of 65,536 bytes is read in full, and one byte more answers 413 without request_id", async () => {
  const fits = leadOfBytes(limits.bodyBytesMax);
  assert.equal(fits.length, 65_536);
  assert.deepEqual((await testEnv.intake({ key: key.text, body: fits })).json.fields, {
    project_details: "too_long",
  });
  const padded = JSON.stringify(lead());
  const body = padded + " ".repeat(limits.bodyBytesMax - padded.length);
  assert.equal((await testEnv.intake({ key: key.text, body })).status, 202);
  await testEnv.leavesNothing(async () => {
    const over = await testEnv.intake({ key: key.text, body: `${body} ` });
    assert.equal(over.status, 413);
    assert.deepEqual(over.json, { error: "body_too_large" });
    assert.ok(over.headers["x-request-id"]);
  });
});

test("413 is sent from Content-Length alone, before any byte of the body", async () => {
  const answer = await exchangeRaw(
    server.url,
    "POST /v1/intake HTTP/1.1\r\nHost: h\r\nX-Request-Id: early-413\r\nContent-Length: 65537\r\n\r\n",
  );
  assert.equal(answer.status, 413);
  assert.equal(answer.headers["x-request-id"], "early-413");
  assert.deepEqual(JSON.parse(answer.body), { error: "body_too_large" });
});

test("413 is sent at the 65,537th byte of an endless chunked body", async () => {
  const chunk = `8000\r\n${" ".repeat(0x8000)}\r\n`;
  const answer = await exchangeRaw(
    server.url,
    `POST /v1/intake HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}1\r\n \r\n`,
  );
  assert.equal(answer.status, 413);
  assert.deepEqual(JSON.parse(answer.body), { error: "body_too_large" });
});

test("a chunked body is accepted", async () => {
  const text = JSON.stringify(lead());
  const chunks = [...text.matchAll(/.{1,7}/gs)].map(([part]) => `${part.length.toString(16)}\r\n${part}\r\n`);
  const answer = await exchangeRaw(
    server.url,
    `POST /v1/intake HTTP/1.1\r\nHost: h\r\nX-API-Key: ${key.text}\r\nTransfer-Encoding: chunked\r\n\r\n${
      chunks.join("")
    }0\r\n\r\n`,
  );
  assert.equal(answer.status, 202);
});

for (
  const path of [
    "/v1/intake/",
    "/V1/intake",
    "/v1//intake",
    "/v1/intake%20",
    "/v1/%69ntake",
    "/",
    "/v2/intake",
  ]
) {
  test(`POST ${path} answers 404 not_found and stores nothing`, async () => {
    const answer = await testEnv.leavesNothing(() =>
      testEnv.send(path, { method: "POST", key: key.text, body: lead() })
    );
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, { error: "not_found", request_id: answer.headers["x-request-id"] });
  });
}

test("a query and an absolute-form target change nothing", async () => {
  const query = await testEnv.send("/v1/intake?debug=1", { method: "POST", key: key.text, body: lead() });
  assert.equal(query.status, 202);
  const body = JSON.stringify(lead());
  const { host } = new URL(server.url);
  const absolute = await exchangeRaw(
    server.url,
    `POST http://${host}/v1/intake HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key.text}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  assert.equal(absolute.status, 202);
});

test("an incomplete body is not stored", async () => {
  const body = JSON.stringify(lead());
  await testEnv.leavesNothing(async () => {
    const { request } = await import("node:http");
    await new Promise<void>((settle) => {
      const cut = request(`${server.url}/v1/intake`, {
        method: "POST",
        headers: { "X-API-Key": key.text, "Content-Length": body.length + 10 },
      });
      cut.on("error", () => settle());
      cut.write(body, () => cut.destroy());
    });
    // The server answers this request after it has seen the end of the incomplete one.
    assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422);
  });
});
