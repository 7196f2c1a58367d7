import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import {
  CancelledError,
  type ClientOptions,
  type Clock,
  InvalidLeadError,
  LeadsClient,
  LeadsError,
  type LeadsEvent,
  MisconfiguredError,
  RefusedError,
  UnauthorizedError,
  UnavailableError,
} from "../src/index.ts";
import { acknowledgement, key, type Script, startIntake } from "./intake.ts";

const lead = { first_name: "Ada", last_name: "Lovelace", phone: "+14155550100" };
const secrets = [key, "Ada", "Lovelace", "4155550100"];

/** A clock that stands still but for the waits, which take no time. */
function quickClock(): Clock & { readonly waitsMs: number[] } {
  const waitsMs: number[] = [];
  let nowMs = Date.UTC(2026, 8, 3);
  return {
    waitsMs,
    now: () => nowMs,
    sleep: (waitMs) => {
      waitsMs.push(waitMs);
      nowMs += waitMs;
      return Promise.resolve();
    },
  };
}

async function open(t: TestContext, script: Script, options: Partial<ClientOptions> = {}) {
  const intake = await startIntake(script);
  t.after(() => intake.stop());
  const clock = quickClock();
  const client = new LeadsClient({ key, baseUrl: intake.url, clock, random: () => 0.5, ...options });
  return { intake, clock, client };
}

async function failure(promise: Promise<unknown>): Promise<LeadsError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LeadsError) return error;
    throw error;
  }
  throw new Error("It did not fail");
}

test("the observer hears of every try and every wait, in order, and of no content", async (t) => {
  const events: LeadsEvent[] = [];
  const answers = [{ status: 503 }, { status: 429, headers: { "retry-after": "2" } }, acknowledgement()];
  const { client } = await open(t, (_, index) => answers[index] ?? null, {
    observer: (event) => events.push(event),
  });
  const { requestId } = await client.postLead(lead, "acme:1");
  assert.deepEqual(
    events.map((event) => event.type === "try" ? event.status : [event.waitMs, event.rateLimited]),
    [
      503,
      [750, false],
      429,
      [2250, true],
      202,
    ],
  );
  assert.ok(events.every((event) => event.requestId === requestId && event.call === "post_lead"));
  assert.ok(events.every((event) => event.type === "wait" || event.durationMs >= 0));
  for (const secret of secrets) assert.ok(!JSON.stringify(events).includes(secret), secret);
});

test("an observer that throws or rejects loses no lead, and ends no process", async (t) => {
  const observers = [
    () => {
      throw new Error("The counter is full");
    },
    () => Promise.reject(new Error("The counter is away")),
  ];
  for (const observer of observers) {
    // What nobody handles fails the test.
    const { client } = await open(t, () => acknowledgement(), { observer });
    assert.equal((await client.postLead(lead, "acme:1")).status, "accepted");
  }
});

test("calls under way at once over one client keep their own keys, tries and waits", async (t) => {
  const seen = new Map<string, number>();
  const { client, intake } = await open(t, (post) => {
    const id = String(post.headers["idempotency-key"]);
    const tries = (seen.get(id) ?? 0) + 1;
    seen.set(id, tries);
    return tries < 3 ? { status: 500 } : acknowledgement(JSON.parse(post.body).external_id);
  });
  const acks = await Promise.all(
    Array.from({ length: 20 }, (_, n) => client.postLead({ ...lead, external_id: `e${n}` }, `acme:${n}`)),
  );
  assert.deepEqual(acks.map(({ eventId }) => eventId), Array.from({ length: 20 }, (_, n) => `e${n}`));
  assert.ok(acks.every(({ tries }) => tries === 3));
  assert.equal(new Set(acks.map(({ requestId }) => requestId)).size, 20);
  assert.equal(intake.posts.length, 60);
  for (const { requestId } of acks) {
    assert.equal(intake.posts.filter((post) => post.headers["x-request-id"] === requestId).length, 3);
  }
});

// Deno opens what it finds right.
if (!("Deno" in globalThis)) {
  test("nothing is posted while the environment turns the verification of certificates off", async (t) => {
    const name = "NODE_TLS_REJECT_UNAUTHORIZED";
    const before = process.env[name];
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
    delete process.env[name];
    const fetched: unknown[] = [];
    const fetch: typeof globalThis.fetch = (input) => Promise.reject(fetched.push(input));
    const baseUrl = "https://intake.example";
    const client = new LeadsClient({ key, baseUrl, fetch, tries: 1 });
    const { client: local } = await open(t, () => acknowledgement());
    process.env[name] = "0";
    assert.throws(() => new LeadsClient({ key, baseUrl }), MisconfiguredError);
    for (const call of [() => client.postLead(lead, "acme:1"), () => client.checkKey()]) {
      const error = await failure(call());
      assert.deepEqual([error.kind, error.requestId], ["misconfigured", null]);
    }
    assert.deepEqual(fetched, []);
    // Without TLS there is nothing to verify.
    assert.equal((await local.postLead(lead, "acme:1")).status, "accepted");
    process.env[name] = "1";
    assert.equal((await failure(client.postLead(lead, "acme:1"))).kind, "unavailable");
  });

  test("on Node eight at once use eight connections at most, again and again", async (t) => {
    const { client, intake } = await open(t, () => acknowledgement());
    let next = 0;
    await Promise.all(Array.from({ length: 8 }, async () => {
      while (next < 200) await client.postLead(lead, `acme:${next++}`);
    }));
    assert.equal(intake.posts.length, 200);
    assert.ok(new Set(intake.posts.map(({ port }) => port)).size <= 8);
  });
}

test("a user may end a wait with a signal, and is told so by an error of its own", async (t) => {
  const controller = new AbortController();
  const { client } = await open(t, () => ({ status: 503 }), {
    clock: undefined,
    random: undefined,
    observer: (event) => event.type === "wait" && controller.abort(),
    tries: 2,
  });
  const error = await failure(client.postLead(lead, "acme:1", { signal: controller.signal }));
  assert.ok(error instanceof CancelledError);
  assert.deepEqual([error.kind, error.status, error.tries], ["cancelled", 503, 1]);
});

test("a user may end a try with a signal", async (t) => {
  const controller = new AbortController();
  const { client } = await open(t, () => {
    controller.abort();
    return new Promise(() => {});
  });
  const error = await failure(client.postLead(lead, "acme:1", { signal: controller.signal }));
  assert.deepEqual([error.kind, error.tries, error.unknownOutcome], ["cancelled", 0, true]);
  const before = await failure(client.checkKey({ signal: AbortSignal.abort() }));
  assert.deepEqual([before.kind, before.requestId], ["cancelled", null]);
});

test("the system's clock sleeps, and ends its sleep when a call is cancelled", async (t) => {
  const controller = new AbortController();
  const { client } = await open(t, () => ({ status: 503, headers: { "retry-after": "60" } }), {
    clock: undefined,
    observer: (event) => event.type === "wait" && setImmediate(() => controller.abort()),
  });
  assert.equal(
    (await failure(client.postLead(lead, "a:1", { signal: controller.signal }))).kind,
    "cancelled",
  );
});

test("no form of client or error shows the key or the lead, whatever the answer echoes", async (t) => {
  const echo = (status: number): Script => (post) => ({
    status,
    headers: { location: `/?${key}`, etag: key },
    body: { error: post.body, message: key, fields: { [key]: "Ada", last_name: "Lovelace" } },
  });
  const expected: Record<number, abstract new (...facts: never) => LeadsError> = {
    401: UnauthorizedError,
    422: InvalidLeadError,
    302: RefusedError,
    400: RefusedError,
  };
  for (const status of [200, 202, 302, 400, 401, 422, 429, 500]) {
    const { client } = await open(t, echo(status), { tries: 2, deadlineMs: 5_000 });
    const error = await failure(client.postLead(lead, "acme:1"));
    assert.ok(error instanceof (expected[status] ?? UnavailableError));
    const forms = [client, error].flatMap((value) => [
      String(value),
      inspect(value, { depth: 9, showHidden: true }),
      JSON.stringify(value),
    ]);
    for (const form of [...forms, error.message, error.stack, inspect(error.cause)]) {
      for (const secret of secrets) assert.ok(!form?.includes(secret), `${status}: ${form}`);
    }
  }
});

test("an invalid lead names the documented fields and reasons in its message, and all of them in its fields", async (t) => {
  const fields = { phone: "required", cost: "out_of_range", shoe: "required", zip: "Lovelace" };
  const { client } = await open(t, () => ({ status: 422, body: { error: "validation_failed", fields } }));
  const error = await failure(client.postLead(lead, "acme:1"));
  assert.ok(error instanceof InvalidLeadError);
  assert.deepEqual(error.fields, fields);
  assert.match(
    error.message,
    /^The lead is invalid: phone required, cost out_of_range \(422 validation_failed, 1 try/,
  );
  assert.equal(error.name, "InvalidLeadError");
});

test("a vocabulary is kept for its max-age, asked for again with its ETag, and cannot be changed", async (t) => {
  const body = {
    project_area: [{ area: "Roof", status: "confirmed" }],
    project_service: ["repair"],
    required: ["phone"],
  };
  const headers = { etag: '"1"', "cache-control": "public, max-age=300" };
  const { client, clock, intake } = await open(
    t,
    (_, index) => index === 0 ? { status: 200, headers, body } : { status: 304, headers },
  );
  const first = await client.vocabulary();
  assert.deepEqual(first, { areas: body.project_area, services: ["repair"], required: ["phone"] });
  assert.throws(() => (first.areas as unknown[]).push("Moat"), TypeError);
  assert.throws(() => ((first.areas[0] as { area: string }).area = "Moat"), TypeError);
  await clock.sleep(299_000, undefined);
  assert.equal(await client.vocabulary(), first);
  assert.equal(intake.posts.length, 1);
  await clock.sleep(2_000, undefined);
  assert.equal(await client.vocabulary(), first);
  assert.equal(intake.posts[1]?.headers["if-none-match"], '"1"');
  assert.equal(await client.vocabulary(), first);
  assert.equal(intake.posts.length, 2);
  assert.ok(intake.posts.every(({ headers }) => headers["x-api-key"] === undefined));
});

test("one try is one try", async (t) => {
  const { client, clock, intake } = await open(t, () => null, { tries: 1 });
  const error = await failure(client.postLead(lead, "acme:1"));
  assert.deepEqual([error.kind, error.tries, error.unknownOutcome], ["unavailable", 1, true]);
  assert.equal(intake.posts.length, 1);
  assert.deepEqual(clock.waitsMs, []);
});

test("settings that cannot be right are refused before anything is sent", () => {
  const baseUrl = "https://intake.example";
  const wrong: Record<string, unknown>[] = [
    { tries: 0 },
    { tries: 1.5 },
    { tries: Infinity },
    { deadlineMs: 0 },
    { tryTimeoutMs: -1 },
    { tryTimeoutMs: Infinity },
    { tryTimeoutMs: NaN },
    { key: undefined },
    { baseUrl: undefined },
  ];
  for (const options of wrong) {
    assert.throws(() => new LeadsClient({ key, baseUrl, ...options }), MisconfiguredError, inspect(options));
  }
  assert.equal(new LeadsClient({ key, baseUrl: `${baseUrl}/leads/` }).baseUrl, `${baseUrl}/leads`);
});

test("no client is made in a page", (t) => {
  t.after(() => {
    Reflect.deleteProperty(globalThis, "window");
    Reflect.deleteProperty(globalThis, "document");
  });
  Object.assign(globalThis, { window: {}, document: {} });
  assert.throws(() => new LeadsClient({ key, baseUrl: "https://intake.example" }), /must not be in a page/);
});

test("another fetch may be given, and what it throws is a transport error", async () => {
  const urls: string[] = [];
  const client = new LeadsClient({
    key,
    baseUrl: "https://intake.example/leads",
    tries: 1,
    fetch: (input, init) => {
      urls.push(`${init?.method} ${input}`);
      return Promise.reject(new TypeError(`It broke with ${key}`));
    },
  });
  const error = await failure(client.postLead(lead, "acme:1"));
  assert.deepEqual([error.kind, error.unknownOutcome], ["unavailable", true]);
  assert.deepEqual(urls, ["POST https://intake.example/leads/v1/intake"]);
  assert.ok(!inspect(error).includes(key));
});
