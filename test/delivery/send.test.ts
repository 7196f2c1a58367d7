import assert from "node:assert/strict";
import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import test, { type TestContext } from "node:test";
import { type FailureCause, Sender } from "../../src/delivery/send.ts";
import { until } from "../support/until.ts";

/** A TCP server that splits requests and lets a test write the response. */
class RawServer {
  readonly requests: string[] = [];
  readonly sockets: Socket[] = [];
  /** The requests per connection, in the order of connecting. */
  readonly counts: number[] = [];
  react: (socket: Socket, request: string) => void = (socket) => socket.write(ok);
  /** Called with each new connection. */
  accept: (socket: Socket) => void = () => {};
  readonly #server = net.createServer((socket) => this.#serve(socket));

  static async open(t: TestContext, host = "127.0.0.1"): Promise<RawServer> {
    const server = new RawServer();
    server.#server.listen(0, host);
    await once(server.#server, "listening");
    t.after(() => server.close());
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    const index = this.sockets.push(socket) - 1;
    this.counts.push(0);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("error", () => {});
    this.accept(socket);
    socket.on("data", (chunk: string) => {
      text += chunk;
      const matched = /^[^]*?\r\nContent-Length: (\d+)\r\n\r\n/.exec(text);
      if (matched === null) return;
      const [head, length] = matched as unknown as [string, string];
      const bodyBytes = Buffer.from(text.slice(head.length));
      if (bodyBytes.length < Number(length)) return;
      assert.equal(bodyBytes.length, Number(length), "one request at a time");
      const request = text;
      text = "";
      this.requests.push(request);
      this.counts[index] = (this.counts[index] as number) + 1;
      this.react(socket, request);
    });
  }
}

const answer = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join("") + "\r\n";
const ok = `${answer("HTTP/1.1 200 OK", "Content-Length: 2")}{}`;
const delivered = { kind: "delivered", status: 200 };
/** Returns the outcome without a response; by default the event was sent and the connection cut. */
const unreachable = (
  reason: string,
  { status = null, cause = "closed", isSent = true }: {
    status?: number | null;
    cause?: FailureCause;
    isSent?: boolean;
  } = {},
) => ({ kind: "unreachable", status, reason, failure: { cause, code: reason }, isSent });

function sender(
  t: TestContext,
  port: number,
  options: { timeoutMs?: number; connectionsMax?: number } = {},
): Sender {
  const made = new Sender({
    url: `http://127.0.0.1:${port}`,
    tls: null,
    observe: () => {},
    timeoutMs: 20_000,
    connectionsMax: 4,
    ...options,
  });
  t.after(() => made.close());
  return made;
}

async function opened(t: TestContext, options = {}): Promise<{ server: RawServer; to: Sender }> {
  const server = await RawServer.open(t);
  return { server, to: sender(t, server.port, options) };
}

const invalid = ["", "-1", "1.5", "1e400", "soon"].map((text) => [text, 0] as const);
const retryAfters = [
  ["120", 120_000],
  ["86401", 86_400_000],
  ["9999999999", 86_400_000],
  ["9".repeat(400), 86_400_000],
  ...invalid,
] as const;
test("a Retry-After of the actions service is capped at a day, however many digits it has, and ignored if invalid", async (t) => {
  const server = await RawServer.open(t);
  const to = sender(t, server.port);
  for (const [text, ms] of retryAfters) {
    const head = answer("HTTP/1.1 424 Failed Dependency", `Retry-After: ${text}`, "Content-Length: 2");
    server.react = (socket) => socket.write(`${head}{}`);
    assert.partialDeepStrictEqual(await to.send("a", "{}"), { kind: "refused", retryAfterMs: ms }, text);
  }
});

test("a request is one PUT with the event id in its path, Host and Content-Length", async (t) => {
  const server = await RawServer.open(t, "::1");
  const to = new Sender({
    url: `http://[::1]:${server.port}/tier/`,
    tls: null,
    observe: () => {},
    timeoutMs: 20_000,
    connectionsMax: 1,
  });
  t.after(() => to.close());
  const body = `{"first_name":"Zoë 🏠"}`;
  assert.deepEqual(await to.send("abc123", body), delivered);
  assert.deepEqual(await to.send("a/b c\r\n", "{}"), delivered);
  assert.equal(
    server.requests[0],
    answer(
      "PUT /tier/v1/events/abc123 HTTP/1.1",
      `Host: [::1]:${server.port}`,
      "Connection: keep-alive",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
    ) + body,
  );
  assert.match(server.requests[1] as string, /^PUT \/tier\/v1\/events\/a%2Fb%20c%0D%0A HTTP/);
});

test("connections are reused, the last one first, and never exceed the maximum", async (t) => {
  const { server, to } = await opened(t, { connectionsMax: 3 });
  let inFlight = 0;
  let most = 0;
  server.react = (socket) => {
    most = Math.max(most, ++inFlight);
    setImmediate(() => {
      inFlight -= 1;
      socket.write(ok);
    });
  };
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => to.send(`e${n}`, "{}")));
  assert.ok(outcomes.every(({ kind }) => kind === "delivered"));
  assert.equal(server.requests.length, 100);
  assert.equal(server.sockets.length, 3);
  assert.ok(most <= 3);
  const before = [...server.counts];
  for (let n = 0; n < 5; n += 1) await to.send(`f${n}`, "{}");
  const grown = server.counts.filter((count, index) => count !== before[index]);
  assert.equal(grown.length, 1, "sequential requests share a connection");
});

test("a request whose response is not complete in time fails with ETIMEDOUT, also while waiting", async (t) => {
  const { server, to } = await opened(t, { timeoutMs: 1_000, connectionsMax: 1 });
  server.react = () => {};
  const [first, second] = await Promise.all([to.send("a", "{}"), to.send("b", "{}")]);
  assert.deepEqual(first, unreachable("ETIMEDOUT", { cause: "timeout" }));
  assert.ok(second.kind === "unreachable" && second.reason === "ETIMEDOUT");
  await until(() => server.sockets.every((socket) => socket.closed), { what: "the connections close" });
  // A dripping body never triggers a timeout between two bytes.
  server.react = (socket) => {
    socket.write(answer("HTTP/1.1 200 OK", "Content-Length: 1000"));
    const timer = setInterval(() => socket.write("x"), 20);
    socket.on("close", () => clearInterval(timer));
  };
  assert.deepEqual(await to.send("c", "{}"), unreachable("ETIMEDOUT", { status: 200, cause: "timeout" }));
  server.react = (socket) => socket.write(ok);
  assert.deepEqual(await to.send("d", "{}"), delivered);
});

test("a 503 counts as one even if its body is cut off", async (t) => {
  const { server, to } = await opened(t);
  server.react = (socket) => socket.end(answer("HTTP/1.1 503 Service Unavailable", "Content-Length: 2"));
  assert.deepEqual(
    await to.send("a", "{}"),
    unreachable("503", { status: 503, cause: "unavailable" }),
  );
});

test("a request lost on a reused connection is reported, not repeated", async (t) => {
  const { server, to } = await opened(t);
  await to.send("a", "{}");
  server.react = (socket) => socket.destroy();
  assert.deepEqual(await to.send("b", "{}"), unreachable("ECONNRESET"));
  assert.equal(server.requests.filter((request) => request.includes("/b ")).length, 1);
  assert.equal(server.sockets.length, 1);
});

test("a missing server is reported as unreachable with the connection's error to every request", async (t) => {
  const { server, to } = await opened(t, { connectionsMax: 2 });
  server.close();
  const outcomes = await Promise.all(Array.from({ length: 10 }, (_, n) => to.send(`e${n}`, "{}")));
  assert.deepEqual(
    outcomes,
    Array(10).fill(unreachable("ECONNREFUSED", { cause: "refused", isSent: false })),
  );
  const nowhere = new Sender({
    url: "http://nowhere.invalid",
    tls: null,
    observe: () => {},
    timeoutMs: 20_000,
    connectionsMax: 1,
  });
  t.after(() => nowhere.close());
  const outcome = await nowhere.send("a", "{}");
  assert.ok(outcome.kind === "unreachable" && !outcome.isSent);
  assert.match(outcome.reason, /^(ENOTFOUND|EAI_AGAIN)$/);
  assert.equal(outcome.failure.cause, "name");
});

test("a dry run is one POST with its response, or the cause of its failure, and is repeated if it is lost", async (t) => {
  const { server, to } = await opened(t);
  server.react = (socket) => socket.write(`${answer("HTTP/1.1 409 Conflict", "Content-Length: 4")}"no"`);
  assert.deepEqual(await to.dryRun('{"tenant":"acme"}'), { status: 409, text: '"no"' });
  assert.match(server.requests[0] ?? "", /^POST \/v1\/tests HTTP\/1\.1\r\n[^]*\r\n\r\n\{"tenant":"acme"\}$/);
  const react = server.react;
  server.react = (socket) => {
    server.react = react;
    socket.destroy();
  };
  assert.deepEqual(await to.dryRun("{}"), { status: 409, text: '"no"' });
  assert.equal(server.requests.length, 3);
  server.close();
  assert.deepEqual(await to.dryRun("{}"), { cause: "refused", code: "ECONNREFUSED" });
});
