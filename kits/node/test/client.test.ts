import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer as createPlainServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { type ClientOptions, LeadsClient, LeadsError, MisconfiguredError, version } from "../src/index.ts";
import { acknowledgement, key, type Script, startIntake } from "../../js/test/intake.ts";

const lead = { first_name: "Ada", last_name: "Lovelace", phone: "+14155550100" };

async function open(t: TestContext, script: Script, options: ClientOptions = {}) {
  const intake = await startIntake(script);
  const client = new LeadsClient({ key, baseUrl: intake.url, ...quick, ...options });
  t.after(async () => {
    client.close();
    await intake.stop();
  });
  return { intake, client };
}

/** Says that this file is run to post the lead, and tests nothing. */
const apart = "LEADS_POST_APART";
if (process.env[apart] !== undefined) {
  const client = new LeadsClient({ tries: 1 });
  await client.postLead(lead, "acme:1").catch((error) => console.error(error));
  process.exit();
}

/** Waits take no time. */
const quick: ClientOptions = { clock: { now: () => performance.now(), sleep: () => Promise.resolve() } };

async function failure(promise: Promise<unknown>): Promise<LeadsError> {
  const error = await promise.then(() => null, (error: unknown) => error);
  assert.ok(error instanceof LeadsError, inspect(error));
  return error;
}

/** A server that says whatever a test wants, on each connection. */
async function startRaw(t: TestContext, talk: (socket: Socket, connection: number) => void): Promise<string> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    talk(socket, connections++);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** An acknowledgement as it stands on the wire. */
const wire = (() => {
  const body = JSON.stringify(acknowledgement().body);
  return `HTTP/1.1 202 Accepted\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
})();

test("key and address come from the environment where they are not given", async (t) => {
  const { intake } = await open(t, () => acknowledgement());
  const { LEADS_API_KEY, LEADS_BASE_URL } = process.env;
  t.after(() => {
    for (const [name, value] of Object.entries({ LEADS_API_KEY, LEADS_BASE_URL })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  delete process.env.LEADS_API_KEY;
  delete process.env.LEADS_BASE_URL;
  assert.throws(() => new LeadsClient(), /No key was given/);
  Object.assign(process.env, { LEADS_API_KEY: key, LEADS_BASE_URL: `${intake.url}/` });
  const client = new LeadsClient();
  t.after(() => client.close());
  assert.equal((await client.postLead(lead, "acme:1")).status, "accepted");
  assert.equal(intake.posts[0]?.headers["x-api-key"], key);
  assert.equal(intake.posts[0]?.headers["user-agent"], `leads-node/${version}`);
  assert.throws(() => new LeadsClient({ key: "" }), MisconfiguredError);
});

test("posts one after the other use one connection", async (t) => {
  const { client, intake } = await open(t, () => acknowledgement());
  for (let n = 0; n < 5; n += 1) await client.postLead(lead, `acme:${n}`);
  assert.equal(new Set(intake.posts.map(({ port }) => port)).size, 1);
});

test("eight at once over one client use eight connections at most, again and again", async (t) => {
  const { client, intake } = await open(t, () => acknowledgement());
  let next = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < 200) await client.postLead(lead, `acme:${next++}`);
  }));
  assert.equal(intake.posts.length, 200);
  assert.ok(new Set(intake.posts.map(({ port }) => port)).size <= 8);
});

test("a cost given as text, and a lead given as JSON, reach the wire digit for digit", async (t) => {
  const { client, intake } = await open(t, () => acknowledgement());
  await client.postLead({ cost: "12.50" }, "acme:1");
  await client.postLead('{ "cost" : 0.30000000000000004, "n": 12345678901234567890 }', "acme:2");
  assert.deepEqual(intake.posts.map(({ body }) => body), [
    '{"cost":12.50}',
    '{ "cost" : 0.30000000000000004, "n": 12345678901234567890 }',
  ]);
});

test("no form of client or error shows the key, the lead or what was answered", async (t) => {
  const baseUrl = await startRaw(t, (socket) => {
    socket.on("data", (data) => socket.end(`HTTP/9 ${data}`));
  });
  const client = new LeadsClient({ key, baseUrl, tries: 1 });
  t.after(() => client.close());
  const error = await failure(client.postLead(lead, "acme:1"));
  assert.deepEqual([error.kind, error.unknownOutcome], ["unavailable", true]);
  for (const value of [client, error]) {
    const forms = [String(value), inspect(value, { depth: 9, showHidden: true }), JSON.stringify(value)];
    for (const secret of [key, "Lovelace", "x-api-key"]) {
      assert.ok(!forms.join().includes(secret), forms.join());
    }
  }
});

/** What a process of its own says that posts the lead, with further variables in its environment. */
async function postApart(env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env, [apart]: "1", LEADS_API_KEY: key },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => said += data);
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0, said);
  return said;
}

test("nothing that Node says of itself under NODE_DEBUG shows the key or the lead", async (t) => {
  const { intake } = await open(t, () => acknowledgement());
  const raw = await startRaw(t, (socket) => socket.on("data", () => socket.resetAndDestroy()));
  for (const baseUrl of [intake.url, raw]) {
    // All but those that print the sources, which have key and lead in them here.
    const said = await postApart({ LEADS_BASE_URL: baseUrl, NODE_DEBUG: "http,https,net,stream,timer,tls" });
    assert.match(said, /NET \d+/);
    for (const secret of [key, "Lovelace", "4155550100"]) assert.ok(!said.includes(secret), said);
  }
  assert.equal(intake.posts.length, 1);
});

test("plain HTTP, which is this machine, goes through no proxy", async (t) => {
  const { intake } = await open(t, () => acknowledgement());
  let proxied = "";
  const proxy = await startRaw(t, (socket) =>
    socket.on("data", (data) => {
      proxied += data;
      socket.end(wire);
    }));
  await postApart({
    LEADS_BASE_URL: intake.url,
    NODE_USE_ENV_PROXY: "1",
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    NO_PROXY: "",
    no_proxy: "",
  });
  assert.equal(proxied, "");
  assert.equal(intake.posts.length, 1);
});

test("what is not sent on an established connection leaves no doubt", async (t) => {
  const server = createPlainServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  // Nobody listens; and a server that takes the connection and never shakes hands.
  const silent = await startRaw(t, () => {});
  const urls = [`https://127.0.0.1:${port}`, silent.replace("http:", "https:")];
  for (const baseUrl of urls) {
    const client = new LeadsClient({ key, baseUrl, tries: 1, tryTimeoutMs: 50 });
    t.after(() => client.close());
    const error = await failure(client.postLead(lead, "acme:1"));
    assert.deepEqual([error.kind, error.status, error.unknownOutcome], ["unavailable", null, false]);
  }
});

test("a try that is given up after the lead went out leaves the outcome unknown", async (t) => {
  const { client } = await open(t, () => new Promise(() => {}), { tries: 1, tryTimeoutMs: 2_000 });
  const error = await failure(client.postLead(lead, "acme:1"));
  assert.deepEqual([error.kind, error.unknownOutcome], ["unavailable", true]);
  assert.match(error.message, /time-out/);
});

test("a kept connection that is cut after the lead went out on it costs a try", async (t) => {
  let posts = 0;
  const baseUrl = await startRaw(t, (socket) => {
    socket.on("data", () => posts++ === 1 ? socket.resetAndDestroy() : socket.write(wire));
  });
  const client = new LeadsClient({ key, baseUrl, ...quick });
  t.after(() => client.close());
  assert.equal((await client.postLead(lead, "acme:1")).tries, 1);
  assert.equal((await client.postLead(lead, "acme:2")).tries, 2);
  assert.equal(posts, 3);
});

test("an answer that comes before all of the lead is read is taken", async (t) => {
  const body = JSON.stringify({ error: "body_too_large" });
  const baseUrl = await startRaw(t, (socket) => {
    socket.once("data", () => {
      socket.pause();
      socket.write(`HTTP/1.1 413 Content Too Large\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  });
  const client = new LeadsClient({ key, baseUrl, tries: 1 });
  t.after(() => client.close());
  const error = await failure(client.postLead({ project_details: "x".repeat(20_000_000) }, "acme:1"));
  assert.deepEqual([error.kind, error.status, error.code], ["refused", 413, "body_too_large"]);
});

test("interim answers are passed over, and 21 of them are too many", async (t) => {
  const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
  for (const [count, expected] of [[20, "accepted"], [21, "refused"]] as const) {
    const baseUrl = await startRaw(t, (socket) => {
      socket.on("data", () => socket.write(early.repeat(count) + wire));
    });
    const client = new LeadsClient({ key, baseUrl, tries: 1 });
    t.after(() => client.close());
    const outcome = await client.postLead(lead, "acme:1").catch((error) => error);
    assert.equal(outcome instanceof LeadsError ? outcome.kind : outcome.status, expected);
  }
});

test("idle connections keep no process alive, and close() ends those in use", async (t) => {
  const { client } = await open(t, () => {
    client.close();
    return new Promise(() => {});
  }, { tries: 1 });
  assert.equal((await failure(client.postLead(lead, "acme:1"))).kind, "unavailable");
});
