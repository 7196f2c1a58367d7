import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { brief } from "../../src/documents/brief.ts";
import { type DocumentName, type DocumentRule, documents, surfaceOf } from "../../src/documents/published.ts";
import { type Example, failureExamples } from "../../src/documents/examples.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import { type BaseUrls, openapi } from "../../src/documents/openapi.ts";
import type { RequestOptions } from "../support/client.ts";
import type { RunningServer } from "../support/server.ts";
import { freshKey, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const elsewhere = await testEnv.start({
  INTAKE_URL: "https://intake.acme.test/",
  FORMS_URL: "https://forms.acme.test",
  SUBSCRIPTION_URL: "https://plans.acme.test",
});

const urlsOf = ({ urls }: RunningServer) => urls as unknown as BaseUrls;
const key = await testEnv.issue();

/** Sends a GET like a browser and returns the bytes as received. */
function getPacked(url: string, acceptEncoding: string): Promise<{ headers: object; bytes: Buffer }> {
  return new Promise((settle, reject) => {
    const sent = request(
      url,
      { headers: { "Accept-Encoding": acceptEncoding } },
      (response) => {
        const chunks: Uint8Array[] = [];
        response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
        response.on("end", () => settle({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

test("GET /api/openapi.json is the document for this address", async () => {
  const answer = await testEnv.send(documents.openapi.path);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.deepEqual(answer.json, JSON.parse(JSON.stringify(openapi(urlsOf(server)))));
  assert.deepEqual(answer.json.servers.map(({ url }: { url: string }) => url), [server.url]);
});

test("GET /api/INTEGRATION.md is the brief for this address", async () => {
  const answer = await testEnv.send(documents.brief.path);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/markdown; charset=utf-8");
  assert.equal(answer.text, brief(server.url));
});

test("GET /v1/forms/INTEGRATION.md is the forms' brief, on the forms host only", async () => {
  const { path } = documents.formsBrief;
  const answer = await testEnv.sendToForms(path);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/markdown; charset=utf-8");
  assert.equal(answer.text, formsBrief(urlsOf(server)));
  assert.equal((await testEnv.send(path)).status, 404);
});

test("the documents name the configured INTAKE_URL, FORMS_URL and SUBSCRIPTION_URL", async () => {
  const { json } = await testEnv.send(documents.openapi.path, {}, elsewhere);
  assert.equal(json.servers[0].url, "https://intake.acme.test");
  assert.equal(json.paths["/v1/forms/{tenant}/{form_key}"].servers[0].url, "https://forms.acme.test");
  assert.equal(json.paths["/api/plans"].servers[0].url, "https://plans.acme.test");
  const forms = await testEnv.sendToForms(documents.formsBrief.path, {}, elsewhere);
  assert.match(forms.text, /curl -sS -i https:\/\/forms\.acme\.test\/v1\/forms\/acme\/contact/);
  assert.doesNotMatch(forms.text, /127\.0\.0\.1/);
  const { text } = await testEnv.send(documents.brief.path, {}, elsewhere);
  assert.match(text, /curl -sS -i https:\/\/intake\.acme\.test\/v1\/intake/);
  assert.doesNotMatch(text, /127\.0\.0\.1/);
});

for (const name of Object.keys(documents) as DocumentName[]) {
  const { path, contentType, caching, headers, cachingOfVersion }: DocumentRule = documents[name];
  const host = server.urls[surfaceOf(name)] as string;
  const ask = (path: string, options: RequestOptions = {}) =>
    surfaceOf(name) === "forms" ? testEnv.sendToForms(path, options) : testEnv.send(path, options);

  test(`${path} has a strong ETag and Cache-Control, and any origin may read it`, async () => {
    const answer = await ask(path, { headers: { Origin: "https://elsewhere.example" } });
    const version = createHash("sha256").update(answer.text).digest().subarray(0, 16).toString("base64url");
    assert.equal(answer.headers.etag, `"${version}"`);
    assert.equal(answer.headers["cache-control"], caching);
    assert.equal(answer.headers["content-security-policy"], headers?.["Content-Security-Policy"]);
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.equal(answer.headers.vary, "Accept-Encoding");
    assert.equal(answer.headers["x-content-type-options"], "nosniff");
  });

  test(`${path} answers 304 to its ETag, weak or in a list, and to *`, async () => {
    const { headers: { etag } } = await ask(path);
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const answer = await ask(path, { headers: { "If-None-Match": sent } });
      assert.equal(answer.status, 304, sent);
      assert.equal(answer.text, "");
      assert.equal(answer.headers.etag, etag);
      assert.equal(answer.headers["cache-control"], caching);
      assert.equal(answer.headers["content-type"], undefined);
    }
    for (const sent of ['"other"', etag?.slice(1), ""]) {
      assert.equal((await ask(path, { headers: { "If-None-Match": sent } })).status, 200, sent);
    }
  });

  test(`${path} is compressed for clients that accept gzip, under a separate ETag`, async () => {
    const plain = await ask(path);
    for (const accepted of ["gzip", "gzip, deflate, br, zstd", "br;q=0, *", "GZIP;q=0.5", "x-gzip"]) {
      const { headers, bytes } = await getPacked(host + path, accepted);
      const named = headers as Record<string, string>;
      assert.equal(named["content-encoding"], "gzip", accepted);
      assert.equal(gunzipSync(bytes).toString(), plain.text);
      assert.notEqual(named.etag, plain.headers.etag);
      assert.equal(named.vary, "Accept-Encoding");
      const again = await ask(path, {
        headers: { "Accept-Encoding": accepted, "If-None-Match": named.etag },
      });
      assert.equal(again.status, 304);
    }
    for (const accepted of ["", "identity", "gzip;q=0", "gzip;q=0, *"]) {
      const { headers } = await getPacked(host + path, accepted);
      assert.equal((headers as Record<string, string>)["content-encoding"], undefined, accepted);
    }
  });

  test(`HEAD ${path} has the headers of GET and no body`, async () => {
    const got = await ask(path);
    const head = await ask(path, { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(head.text, "");
    for (const name of ["content-type", "content-length", "etag", "cache-control", "vary"]) {
      assert.equal(head.headers[name], got.headers[name], name);
    }
    assert.equal(head.headers["content-type"], contentType);
  });

  test(`${path} is immutable only under its own version`, async () => {
    const { headers: { etag } } = await ask(path);
    const own = await ask(`${path}?v=${etag?.replaceAll('"', "")}`);
    assert.equal(own.headers["cache-control"], cachingOfVersion ?? caching);
    const other = await ask(`${path}?v=other`);
    assert.equal(other.headers["cache-control"], caching);
    assert.equal(other.text, own.text);
  });

  test(`POST ${path} answers 405 with Allow: GET, HEAD, and ${path}/ is 404`, async () => {
    const refused = await ask(path, { method: "POST", body: {} });
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.allow, "GET, HEAD");
    assert.equal((await ask(`${path}/`)).status, 404);
  });
}

test("GET /api and GET /forms load their assets by the versions that are served", async () => {
  const asks = {
    [documents.playground.path]: (path: string) => testEnv.send(path),
    [documents.formsPlayground.path]: (path: string) => testEnv.sendToForms(path),
  };
  for (const [path, ask] of Object.entries(asks)) {
    const { text } = await ask(path);
    const loaded = [...text.matchAll(/(?:src|href)="(\/[a-z]+\/playground\.[a-z]+\?v=[^"]+)"/g)];
    assert.equal(loaded.length, 3);
    for (const [, asset = ""] of loaded) {
      assert.match(String((await ask(asset)).headers["cache-control"]), /immutable/, asset);
    }
  }
});

// deno-lint-ignore no-explicit-any -- the document as it came over the wire
let published: any;

test("every request example gets the response of the same name", async () => {
  published = (await testEnv.send(documents.openapi.path)).json;
  const { post } = published.paths["/v1/intake"];
  const answers = post.responses[202].content["application/json"].examples;
  const examples = Object.entries(post.requestBody.content["application/json"].examples);
  assert.ok(examples.length >= 9);
  for (const [name, { value }] of examples as [string, { value: unknown }][]) {
    const headers = { "Idempotency-Key": freshKey() };
    const accepted = await testEnv.intake({ key: key.text, body: value, headers });
    assert.equal(accepted.status, 202, name);
    const { event_id, received_at } = accepted.json;
    const expected = { ...answers[name].value, event_id, received_at, source: key.label };
    assert.deepEqual(accepted.json, expected, name);
    const repeat = await testEnv.intake({ key: key.text, body: value, headers });
    assert.deepEqual([repeat.status, repeat.json], [200, { ...expected, status: "duplicate" }], name);
  }
});

test("every refusal example is the server's response", async () => {
  const { post } = published.paths["/v1/intake"];
  for (const [name, example] of Object.entries(failureExamples as Record<string, Example>)) {
    const { body, response, idempotencyKey } = example;
    const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
    const refused = await testEnv.intake({ key: key.text, body, headers });
    assert.equal(refused.status, response.status, name);
    const { example: one, examples } = post.responses[response.status].content["application/json"];
    const documented = examples?.[name].value ?? one;
    const request_id = refused.headers["x-request-id"];
    assert.deepEqual(
      refused.json,
      documented.request_id === undefined ? documented : { ...documented, request_id },
      name,
    );
  }
});

test("the forms' examples get the documented responses", async () => {
  const { post } = published.paths["/v1/forms/{tenant}/{form_key}"];
  const { form, key } = await testEnv.formWithKey();
  const exampleOf = (status: number) => post.responses[status].content["application/json"];
  const sent = { key: key.text, body: post.requestBody.content["application/json"].example };
  for (const status of [202, 200]) {
    const { json, ...answer } = await testEnv.submit(form, sent);
    assert.equal(answer.status, status);
    const { submission_id, received_at } = json;
    assert.deepEqual(json, { ...exampleOf(status).example, submission_id, received_at });
  }
  const probe = await testEnv.submit(form, { key: key.text, body: {} });
  const request_id = probe.headers["x-request-id"];
  assert.deepEqual(probe.json, { ...exampleOf(400).examples.missing_required.value, request_id });
  const nested = await testEnv.submit(form, { key: key.text, body: { name: [] } });
  const refused = exampleOf(400).examples.invalid_json.value;
  assert.deepEqual(nested.json, { ...refused, request_id: nested.headers["x-request-id"] });
});

test("the other response examples are the server's too", async () => {
  const { paths } = published;
  const vocabulary = paths["/v1/vocabulary"].get.responses[200].content["application/json"].example;
  const { json } = await testEnv.send("/v1/vocabulary");
  for (const area of vocabulary.project_area) {
    assert.ok(json.project_area.some((one: object) => JSON.stringify(one) === JSON.stringify(area)));
  }
  assert.deepEqual(vocabulary.project_service, json.project_service);
  assert.deepEqual(vocabulary.required, json.required);
  const errors: [path: string, options: object, status: number][] = [
    ["/v1/intake", { method: "POST", body: {} }, 401],
    ["/v1/intake", { method: "PUT", body: {} }, 405],
    ["/v1/vocabulary", { method: "POST" }, 405],
  ];
  for (const [path, options, status] of errors) {
    const answer = await testEnv.send(path, options);
    const operation = paths[path].post ?? paths[path].get;
    const { example } = operation.responses[status].content["application/json"];
    assert.equal(answer.status, status);
    assert.deepEqual(answer.json, { ...example, request_id: answer.headers["x-request-id"] });
  }
});
