import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { freePort } from "../../scripts/free_port.ts";
import { freshAddress, get } from "../support/client.ts";
import { atEnd } from "../support/at_end.ts";
import { openSocket, openSockets } from "../support/handed_socket.ts";
import { openNotifySocket } from "../support/notify_socket.ts";
import { type RunningServer, runToEnd } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, World } from "../support/world.ts";

const world = await World.open();
const two = { INTAKE_PROCESSES: "2" };
/** Two processes on ports of ours: one that the parent finds free may be somebody else's before the first process has it. */
const several = async () => ({
  ...two,
  INTAKE_LISTEN: `127.0.0.1:${await freePort()}`,
  FORMS_LISTEN: `127.0.0.1:${await freePort()}`,
});

/** The process that has a place now. */
function pidOf(server: RunningServer, number: number): number {
  const started = server.logs.filter(({ event, process }) =>
    event === "process_started" && process === number
  );
  return Number(started.at(-1)?.pid);
}

/** The samples of the figures by name and labels. */
async function figures(server: RunningServer): Promise<Map<string, number>> {
  const { status, text } = await get(`${server.urls.ops}/metrics`);
  assert.equal(status, 200);
  return new Map(
    text.split("\n").filter((line) => /^[a-z]/.test(line)).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** The same once they fit: of a process that is too busy to say them they are those of before, or none. */
async function figuresWhen(
  server: RunningServer,
  fit: (found: Map<string, number>) => boolean,
): Promise<Map<string, number>> {
  return await until(async () => {
    const found = await figures(server);
    return fit(found) && found;
  }, { what: `the figures ${fit}` });
}

/** The posts that each process has answered, by the log. */
function answered(server: RunningServer): number[] {
  return [1, 2].map((number) =>
    server.logs.filter(({ route, process }) => route === "/v1/intake" && process === number).length
  );
}

/** Whether a process runs; one that has ended and that nobody has asked about yet does not. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("two processes share the connections; their figures are one sum, and the operator's listener is there once", async () => {
  const server = await world.start(await several());
  const key = await world.issue();
  const posts = 60;
  for (let n = 0; n < posts; n += 1) {
    assert.equal((await world.intake({ key: key.text, body: lead() }, server)).status, 202);
  }
  await until(() => answered(server).reduce((sum, count) => sum + count) === posts);
  assert.ok(answered(server).every((count) => count > 5), String(answered(server)));
  const counted = 'http_requests_total{surface="intake",route="/v1/intake",method="POST",status="202"}';
  const found = await figuresWhen(server, (now) => now.get(counted) === posts);
  assert.equal(found.get('lead_accepted_total{kind="lead"}'), posts);
  assert.equal(found.get("lead_store_writable"), 1);
  const listening = (surface: string) =>
    server.logs.filter((line) => line.event === "listening" && line.surface === surface);
  assert.equal(new Set(listening("intake").map(({ url }) => url)).size, 1);
  assert.deepEqual(listening("intake").map(({ process }) => process).sort(), [1, 2]);
  assert.deepEqual(listening("ops").map(({ process }) => process), [1]);
  assert.ok(!server.logs.some(({ event }) => event === "unparsed"));
  assert.equal(await server.stop(), 0);
  assert.equal(server.logs.at(-1)?.event, "stopped");
  assert.equal(server.logs.at(-1)?.process, undefined);
});

test("one that is killed under load takes no acknowledged lead along; the other goes on, and it is started again and reported", async () => {
  const server = await world.start(await several());
  const key = await world.issue();
  const acknowledged: string[] = [];
  let isOver = false;
  let cut = 0;
  // Each keeps one connection: with many in turns, it would go from one to the next of those that are cut off.
  const client = async (localAddress: string) => {
    while (!isOver) {
      const headers = { "Idempotency-Key": freshKey() };
      try {
        const options = { key: key.text, body: lead(), headers, localAddress };
        const { status, json } = await world.intake(options, server);
        assert.ok(status === 202, String(status));
        acknowledged.push(json.event_id);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        cut += 1;
      }
    }
  };
  const clients = Array.from({ length: 8 }, () => client(freshAddress()));
  await until(() => acknowledged.length > 100);
  const accepted = 'lead_accepted_total{kind="lead"}';
  const before = await figuresWhen(server, (now) => now.has(accepted));
  for (const number of [2, 1]) {
    const pid = pidOf(server, number);
    process.kill(pid, "SIGKILL");
    const here = acknowledged.length;
    await until(() => pidOf(server, number) !== pid && acknowledged.length > here + 100);
    // The next one has its place when it accepts again.
    await until(() =>
      server.logs.filter((line) => line.event === "started" && line.process === number).length > 1
    );
  }
  isOver = true;
  await Promise.all(clients);
  const ended = server.logs.filter(({ event }) => event === "process_ended");
  assert.deepEqual(ended.map(({ process, result }) => [process, result]), [[2, "signal"], [1, "signal"]]);
  // Of each client and process one that was under way, and one on a connection that nobody had accepted yet.
  assert.ok(cut <= 8 * 4, `${cut} requests were cut off`);
  const [row] = await world.sql<{ count: number }[]>`
    select count(*)::int as count from event where event_id = any (${acknowledged})`;
  assert.equal(row?.count, acknowledged.length);
  const found = await figuresWhen(server, (now) => now.get('lead_last_failure{result="signal"}') === 1);
  // What was counted when they were last looked at is not forgotten.
  assert.ok(Number(found.get(accepted)) >= Number(before.get(accepted)), "a count fell");
  assert.equal(await server.stop(), 0);
});

/** Waits until so many posts are held with the commits, of which each has one; returns how many commits there are. */
async function untilHeld(server: RunningServer, posts: number): Promise<number> {
  return await until(async () => {
    const [row] = await world.sql<{ committing: number }[]>`
      select count(*)::int as committing from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%accept(%'`;
    const { committing = 0 } = row ?? {};
    const waiting = (await figures(server)).get("lead_commit_waiting") ?? 0;
    return committing + waiting === posts && committing;
  }, { what: `${posts} posts are held` });
}

test("a stop reaches all: what is under way gets its 202, no process is left, and it exits 0", async () => {
  const server = await world.start(await several());
  const key = await world.issue();
  const pids = [1, 2].map((number) => pidOf(server, number));
  const release = await world.holdCommits();
  // One by one until both processes commit; what comes then waits behind these. All are held before the stop: a connection
  // that nobody has accepted yet ends with its listener.
  const answers: Promise<{ status: number }>[] = [];
  const post = () => answers.push(world.intake({ key: key.text, body: lead() }, server));
  do post(); while (await untilHeld(server, answers.length) < 2);
  while (answers.length < 12) post();
  await untilHeld(server, answers.length);
  const ended = server.kill("SIGTERM");
  await until(() =>
    [1, 2].every((number) =>
      server.logs.some(({ event, process }) => event === "stopping" && process === number)
    )
  );
  await release();
  for (const { status } of await Promise.all(answers)) assert.equal(status, 202);
  assert.equal(await ended, 0);
  for (const pid of pids) assert.equal(isRunning(pid), false);
});

test("a parent that is killed leaves nobody behind", async () => {
  const server = await world.start(await several());
  const pids = [1, 2].map((number) => pidOf(server, number));
  const ended = server.kill();
  await until(() => !pids.some(isRunning));
  await ended;
});

const onSockets = { SURFACES: "intake", INTAKE_LISTEN: "fd:intake", INTAKE_URL: "http://intake.test" };

test("on one socket that was handed over: while a process is away nobody is refused or waits", async () => {
  const socket = openSocket("intake");
  const server = await world.start({ ...await several(), ...onSockets }, { sockets: [socket] });
  const pid = pidOf(server, 2);
  process.kill(pid, "SIGKILL");
  const statuses = new Set<number>();
  await until(async () => {
    statuses.add((await get(`${socket.url}/healthz`)).status);
    return pidOf(server, 2) !== pid;
  });
  assert.deepEqual([...statuses], [200]);
  assert.equal(await server.stop(), 0);
});

test("of two sockets of one name each process has one; what comes while one is away is answered by the next in its place", async () => {
  const sockets = openSockets("intake", 2);
  const url = sockets[0]?.url ?? "";
  const server = await world.start({ ...await several(), ...onSockets }, { sockets });
  const healthy = () => get(`${url}/healthz`);
  for (let n = 0; n < 40; n += 1) assert.equal((await healthy()).status, 200);
  const reads = (number: number) =>
    server.logs.filter((line) => line.route === "/healthz" && line.process === number).length;
  await until(() => reads(1) + reads(2) === 40);
  assert.ok(reads(1) > 2 && reads(2) > 2, `${reads(1)} and ${reads(2)}`);
  process.kill(pidOf(server, 2), "SIGKILL");
  await until(() => server.logs.some(({ event }) => event === "process_ended"));
  // Some of these are for the one that is away, and wait as long as a start may take.
  const patiently = () => get(`${url}/healthz`, { timeoutMs: 60_000 });
  const meanwhile = await Promise.all(Array.from({ length: 20 }, patiently));
  assert.ok(meanwhile.every(({ status }) => status === 200));
  assert.equal(await server.stop(), 0);
});

test("systemd hears of one service: ready when all are, alive as long as none hangs; one that stands still is ended and started again", async () => {
  const { path, heard } = await openNotifySocket();
  const server = await world.start({ ...await several(), NOTIFY_SOCKET: path, WATCHDOG_USEC: "3000000" });
  await until(() => heard.includes("READY=1"), { what: "READY" });
  assert.ok(
    heard.some((line) => /^STATUS=2 processes, accepting; \d+ pending, \d+ dead$/.test(line)),
    heard.join("\n"),
  );
  const signs = () => heard.filter((line) => line === "WATCHDOG=1").length;
  await until(() => signs() > 1, { what: "signs of life" });
  const pid = pidOf(server, 2);
  process.kill(pid, "SIGSTOP");
  await until(() =>
    server.logs.some(({ event, result }) => event === "process_ended" && result === "watchdog")
  );
  await until(() => pidOf(server, 2) !== pid);
  const before = signs();
  await until(() => signs() > before, { what: "signs of life afterwards" });
  assert.equal(await server.stop(), 0);
  await until(() => heard.includes("STOPPING=1"), { what: "STOPPING" });
  assert.equal(heard.filter((line) => line === "READY=1").length, 1);
});

test("what is wrong at the start is said once, and ends it with the exit code of one process", async () => {
  const run = (env: Readonly<Record<string, string>>) =>
    runToEnd("src/main.ts", [], { databaseUrl: world.database.url, env: { ...two, ...env } });
  const wrong = await run({ INTAKE_PROCESSES: "0", FORMS_IP_BURST: "many" });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /INTAKE_PROCESSES is not a whole number from 1 to 64/);
  assert.match(wrong.stderr, /FORMS_IP_BURST/);
  const taken = createServer().listen(0, "127.0.0.1");
  atEnd(() => taken.close());
  await new Promise((settle) => taken.once("listening", settle));
  const { port } = taken.address() as { port: number };
  const busy = await run({ INTAKE_LISTEN: `127.0.0.1:${port}` });
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, new RegExp(`Cannot listen on 127.0.0.1:${port} \\(EADDRINUSE\\)`));
  const away = await runToEnd("src/main.ts", [], {
    databaseUrl: "postgres://nobody@127.0.0.1:1/none",
    env: two,
  });
  assert.equal(away.code, 1);
  assert.equal(away.stderr.match(/cannot be reached/g)?.length, 1, away.stderr);
});
