import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange, Handler } from "#src/http/exchange.ts";
import { json, text } from "#src/http/reply.ts";
import { Router } from "#src/http/router.ts";

const named = (name: string): Handler => () => text(200, name);
const options = { notFound: named("not found"), methodNotAllowed: () => json(405, { error: "no" }) };

function ask(method: string, path: string): Exchange {
  return {
    method,
    path,
    query: "",
    requestId: "id",
    clientAddress: "-",
    header: () => undefined,
    headerLines: () => [],
    readBody: () => Promise.resolve({ kind: "incomplete" }),
    keyId: null,
    reason: null,
    route: "-",
    params: {},
  };
}

async function answered(router: Router, exchange: Exchange): Promise<string> {
  return String((await router.handle(exchange)).body);
}

const router = new Router(options)
  .get("/healthz", named("health"))
  .any("/v1/intake", named("intake"))
  .get("/things", named("list")).post("/things", named("make"))
  .post("/v1/forms/{tenant}/{form_key}", named("form"))
  .get("/v1/forms/acme/exact", named("exact"))
  .get("/assets/*", named("assets"))
  .get("/assets/large/*", named("large"));

test("a path matches as sent: no decoding, no normalizing, no trailing slash", async () => {
  const others = [
    "/Healthz",
    "/healthz/",
    "//healthz",
    "/./healthz",
    "/health%7a",
    "healthz",
    "",
    "*",
    "//x",
    "/",
  ];
  for (const path of others) {
    const exchange = ask("GET", path);
    assert.equal(await answered(router, exchange), "not found", path);
    assert.equal(exchange.route, "-");
  }
});

test("a braced segment matches one segment that is not empty, and is handed over as sent", async () => {
  const exchange = ask("POST", "/v1/forms/acme/contact%2Fus");
  assert.equal(await answered(router, exchange), "form");
  assert.equal(exchange.route, "/v1/forms/{tenant}/{form_key}");
  assert.deepEqual({ ...exchange.params }, { tenant: "acme", form_key: "contact%2Fus" });
  for (const path of ["/v1/forms/acme", "/v1/forms/acme/", "/v1/forms//x", "/v1/forms/a/b/c"]) {
    assert.equal(await answered(router, ask("POST", path)), "not found", path);
  }
});

test("exact beats template, and a longer prefix beats a shorter one", async () => {
  assert.equal(await answered(router, ask("GET", "/v1/forms/acme/exact")), "exact");
  assert.equal(await answered(router, ask("GET", "/assets/a/b.css")), "assets");
  assert.equal(await answered(router, ask("GET", "/assets/large/b.css")), "large");
  assert.equal(await answered(router, ask("GET", "/assets")), "not found");
});

test("what is asked before reads stands before GET, HEAD, 404 and 405, and before nothing else", async () => {
  const guarded = new Router({ ...options, beforeReads: () => text(429, "too many") })
    .get("/things", named("list")).post("/things", named("make"))
    .any("/v1/intake", named("intake"));
  const asked: [method: string, path: string, answer: string][] = [
    ["GET", "/things", "too many"],
    ["HEAD", "/things", "too many"],
    ["PUT", "/things", "too many"],
    ["GET", "/nothing", "too many"],
    ["POST", "/nothing", "too many"],
    ["POST", "/things", "make"],
    ["GET", "/v1/intake", "intake"],
  ];
  for (const [method, path, answer] of asked) {
    assert.equal(await answered(guarded, ask(method, path)), answer, `${method} ${path}`);
  }
});
