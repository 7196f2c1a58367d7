import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { suiteRuntime } from "../support/server.ts";
import { until } from "../support/until.ts";
import { exchangeRaw } from "../support/http/raw_connection.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const ops = server.urls.ops as string;
const localAddress = "127.0.0.1";

/** Returns the samples by name and labels. */
async function metrics(): Promise<Map<string, number>> {
  const answer = await get(`${ops}/metrics`, { localAddress });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  return new Map(
    answer.text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const key = await testEnv.issue();
const secret = "Q9secretlabel";

/** The number of requests that {@linkcode traffic} sends. */
const requests = 18;

/** Sends ten leads, one of them twice, each kind of refusal once, and requests for unknown paths. */
async function traffic(): Promise<void> {
  const repeated = {
    key: key.text,
    body: lead({ city: secret }),
    headers: { "Idempotency-Key": freshKey() },
  };
  for (let n = 0; n < 9; n += 1) {
    await testEnv.intake({ key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } });
  }
  await testEnv.intake(repeated);
  await testEnv.intake(repeated);
  await testEnv.intake({ key: key.text, body: {} });
  await testEnv.intake({ key: key.text, body: { first_name: "Ada" } });
  await testEnv.intake({ key: key.text, body: "[" });
  await testEnv.intake({ key: "wrong", body: lead() });
  await testEnv.send("/v1/intake", { method: "GET" });
  await testEnv.send(`/${secret}?q=${secret}`);
  await testEnv.send("/v1/vocabulary");
}

test("the metrics match the traffic, and promtool accepts them", async () => {
  await traffic();
  // Each connection writes its access line after the response.
  const found = await until(async () => {
    const now = await metrics();
    const seen = [...now].filter(([name]) => name.startsWith('http_requests_total{surface="intake"'));
    return seen.reduce((sum, [, count]) => sum + count, 0) >= requests ? now : undefined;
  });
  const expected: Record<string, number> = {
    'lead_accepted_total{kind="lead"}': 10,
    'lead_accepted_total{kind="form"}': 0,
    'lead_duplicates_total{kind="lead"}': 1,
    'lead_refused_total{kind="lead",reason="validation_failed"}': 2,
    'lead_refused_total{kind="lead",reason="invalid_json"}': 1,
    'lead_refused_total{kind="lead",reason="unauthorized"}': 1,
    'lead_refused_total{kind="lead",reason="method_not_allowed"}': 1,
    'lead_refused_total{kind="lead",reason="rate_limited"}': 0,
    'lead_refused_fields_total{reason="required"}': 2,
    'lead_submissions_total{verdict="spam"}': 0,
    'http_requests_total{surface="intake",route="/v1/intake",method="POST",status="202"}': 10,
    'http_requests_total{surface="intake",route="/v1/intake",method="POST",status="200"}': 1,
    'http_requests_total{surface="intake",route="-",method="GET",status="404"}': 1,
    'http_request_duration_seconds_count{surface="intake",route="/v1/intake",method="POST"}': 15,
    'http_request_duration_seconds_bucket{surface="intake",route="/v1/intake",method="POST",le="+Inf"}': 15,
    "lead_commit_batch_entries_sum": 11,
    "lead_commit_failures_total": 0,
    "lead_store_writable": 1,
    "lead_commit_waiting": 0,
    "lead_delivery_in_flight": 0,
    'lead_delivery_breaker_state{state="closed"}': 0,
    "lead_outbox_dead": 0,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(found.get(name), value, name);
  await until(async () => (await metrics()).get("lead_outbox_pending") === 10);
  for (
    const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"]
  ) {
    assert.ok((found.get(name) ?? 0) > 0, name);
  }
  assert.ok(Math.abs((found.get("process_start_time_seconds") ?? 0) - Date.now() / 1_000) < 600);
  if (suiteRuntime === "node") assert.ok((found.get("process_open_fds") ?? 0) > 5);
  assert.ok([...found.keys()].some((name) => name.startsWith(`lead_build_info{version="`)));
  await until(async () => ((await metrics()).get("process_event_loop_lag_seconds_count") ?? 0) > 0);

  const { text } = await get(`${ops}/metrics`, { localAddress });
  const checked = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.deepEqual([checked.status, checked.stdout, checked.stderr], [0, "", ""]);
});

test("a histogram's buckets are cumulative, and the last one is the count", async () => {
  const found = await metrics();
  const groups = Map.groupBy(
    [...found].filter(([name]) => name.includes("_bucket{")),
    ([name]) => name.replace(/,?le="[^"]*"/, ""),
  );
  assert.ok(groups.size >= 8);
  for (const [name, buckets] of groups) {
    const counts = buckets.map(([, count]) => count);
    assert.deepEqual(counts, counts.toSorted((a, b) => a - b), name);
    const count = name.replace("_bucket{", "_count{").replace("{}", "");
    assert.equal(counts.at(-1), found.get(count), count);
  }
});

test("no label contains a caller's path, query, method or key", async () => {
  const hostile = [
    `GET /${secret}/555-123-4567 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    `${secret.toUpperCase()} /v1/intake HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    `PROPFIND /v1/intake HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: ${secret}"}\r\nConnection: close\r\n\r\n`,
  ];
  for (const bytes of hostile) await exchangeRaw(server.url, bytes, { isOfIntake: false });
  const before = (await metrics()).size;
  for (let n = 0; n < 20; n += 1) await get(`${server.url}/${secret}/${n}?${n}`);
  const after = await metrics();
  assert.ok(after.size <= before + 1, "a request makes no new series");
  const { text } = await get(`${ops}/metrics`, { localAddress });
  const vars = await get(`${ops}/debug/vars`, { localAddress });
  for (const shown of [text, vars.text]) {
    assert.doesNotMatch(shown, new RegExp(`${secret}|555-123|PROPFIND`, "i"));
    assert.ok(!shown.includes(key.text) && !shown.includes(key.label));
  }
  for (const name of after.keys()) {
    const route = /route="([^"]*)"/.exec(name)?.[1];
    if (route !== undefined) assert.match(route, /^(-|\/[a-z_0-9./{}*]*)$/i);
  }
});

test("GET /debug/vars has the shape of expvar, our figures, no argument and nothing of the environment", async () => {
  const { status, headers, json, text } = await get(`${ops}/debug/vars`, { localAddress });
  assert.equal(status, 200);
  assert.equal(headers["content-type"], "application/json");
  assert.ok(Array.isArray(json.cmdline) && json.cmdline.length <= 2);
  for (const name of ["Alloc", "Sys", "HeapAlloc", "HeapSys", "HeapInuse"]) {
    assert.ok(json.memstats[name] > 0, name);
  }
  assert.equal(json.lead_accepted_total['kind="lead"'], 10);
  assert.equal(json.lead_store_writable, 1);
  assert.equal(json.lead_commit_batch_entries.sum, 11);
  const { pathname, password } = new URL(testEnv.database.url);
  for (const hidden of [password, pathname.slice(1), "postgres://", "DATABASE_URL"]) {
    assert.ok(hidden === "" || !text.includes(hidden), hidden);
  }
});
