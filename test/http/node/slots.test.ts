import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { parseNetworks } from "#src/http/addresses.ts";
import { flood, requests } from "../../support/http/http2_frames.ts";
import { FrameClient } from "../../support/http/frames.ts";
import { Edge } from "#src/http/node/edge.ts";
import type { ListenOptions } from "#src/http/options.ts";
import { type App, get, places, post, startApp, Wire } from "../../support/http/echo.ts";
import { selfSigned } from "../../support/authority.ts";
import { temporaryFolder } from "../../support/folder.ts";

const files = selfSigned(temporaryFolder(), "slots");
const halfPost = post("/echo", "abc", "X-Request-Id: gone").slice(0, -1);

/** Opens clients that have each sent half a post. */
async function halfPosts(app: App, addresses: readonly string[]): Promise<Wire[]> {
  const wires: Wire[] = [];
  for (const localAddress of addresses) {
    const wire = await Wire.open(app.port, { localAddress });
    wire.send(halfPost);
    await app.next("began");
    wires.push(wire);
  }
  return wires;
}

/** Opens a keep-alive connection with one served request. */
async function asked(app: App, localAddress: string): Promise<Wire> {
  const wire = await Wire.open(app.port, { localAddress });
  wire.send(get("/name"));
  assert.equal((await wire.answer()).status, 200);
  return wire;
}

async function stillAnswers(wire: Wire): Promise<void> {
  wire.send(get("/name"));
  assert.equal((await wire.answer()).status, 200);
}

async function finishes(wire: Wire): Promise<void> {
  wire.send("c");
  assert.equal((await wire.answer()).body.toString(), "abc");
}

const updates = flood("window_update", 1_000);
/** Abusive input, by what the connection is closed for. */
const wasteful = {
  "frames": () => updates,
  "reset requests": (round: number) =>
    requests("one.test", "/never", { count: 100, first: 100 * round, isReset: true }),
};

/** Gets a connection of 127.0.1.1 closed for abuse. */
async function waste(app: App, how: keyof typeof wasteful = "frames"): Promise<void> {
  const client = await FrameClient.open(app.port, { localAddress: "127.0.1.1" });
  // Far above the limit.
  for (let round = 0; round < 10_000 && !client.isClosed; round++) {
    if (!client.send(wasteful[how](round))) await new Promise((resolve) => setImmediate(resolve));
  }
  await client.closed();
}

function leave(wires: readonly (Wire | undefined)[]): void {
  for (const wire of wires) wire?.socket.destroy();
}

test("an address has 256 connections, and trusted proxies and loopback no limit unless it is set", () => {
  const options = {
    surfaces: [{ hosts: ["one.test"] }],
    trustedProxies: parseNetworks("10.0.0.0/8"),
  } as unknown as ListenOptions;
  const bounds = (of: ListenOptions) =>
    ["192.0.2.1", "2001:db8::1", "10.1.2.3", "127.0.0.1", "::ffff:127.0.0.2", "::1"].map((address) => {
      const edge = new Edge(of);
      return edge.connectionsPerAddressMax(edge.peer(address));
    });
  assert.deepEqual(bounds(options), [256, 256, Infinity, Infinity, Infinity, Infinity]);
  assert.deepEqual(bounds({ ...options, connectionsPerAddress: 7 }), [7, 7, 7, 7, 7, 7]);
});

for (const place of places) {
  test(`for a new connection an idle one is closed before one with a late body on ${place}`, async () => {
    // Longer than this test runs.
    const app = await startApp(place, { bounds: { connectionsMax: 4, evictionGraceMs: 600_000 } });
    after(() => app.close());
    const idle = [await asked(app, "127.0.1.1"), await asked(app, "127.0.1.1")];
    const half = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    const newcomers = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    for (const wire of idle) assert.equal((await wire.closed()).byteLength, 0);
    for (const wire of [...half, ...newcomers]) await finishes(wire);
    leave([...half, ...newcomers]);
  });

  describe(`when connection slots run short on ${place}`, async () => {
    const app = await startApp(place, { bounds: { connectionsMax: 4, evictionGraceMs: 0 } });
    after(() => app.close());

    test("incomplete posts are closed for new connections, the oldest first", async () => {
      const half = await halfPosts(app, ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4"]);
      for (const [index, wire] of half.entries()) {
        const newcomer = await asked(app, `127.0.2.${index + 1}`);
        assert.equal((await wire.closed()).byteLength, 0);
        await stillAnswers(newcomer);
        newcomer.socket.destroy();
        const [next] = await halfPosts(app, [`127.0.3.${index + 1}`]);
        half.push(next as Wire);
        if (index === 3) break;
      }
      leave(half);
    });

    test("connections that wait for their client are closed before idle ones, and those being served never", async () => {
      const held = await Wire.open(app.port, { localAddress: "127.0.1.1" });
      held.send(get("/held"));
      await app.next("began");
      const idle = await asked(app, "127.0.1.2");
      const [half] = await halfPosts(app, ["127.0.1.3"]);
      const silent = await Wire.open(app.port, { localAddress: "127.0.1.4" });
      const first = await asked(app, "127.0.2.1");
      await half?.closed();
      const second = await asked(app, "127.0.2.2");
      await silent.closed();
      await stillAnswers(idle);
      // Only idle connections are left.
      const third = await Wire.open(app.port, { localAddress: "127.0.2.3" });
      await idle.closed();
      third.send(post("/release", ""));
      assert.equal((await third.answer()).status, 200);
      assert.equal((await held.answer()).body.toString(), "held");
      leave([held, first, second, third]);
    });

    test("the address with the most connections loses one first", async () => {
      const [older] = await halfPosts(app, ["127.0.1.1"]);
      const [one, two, three] = await halfPosts(app, ["127.0.1.2", "127.0.1.2", "127.0.1.2"]);
      const newcomers = [await asked(app, "127.0.2.1")];
      await one?.closed();
      newcomers.push(await asked(app, "127.0.2.2"));
      await two?.closed();
      await finishes(older as Wire);
      await finishes(three as Wire);
      leave([older, three, ...newcomers]);
    });
  });

  test(`connections are limited per address on ${place}`, async () => {
    const app = await startApp(place, { connectionsPerAddress: 2 });
    const [first, second] = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    const other = await asked(app, "127.0.1.2");
    const newcomer = await asked(app, "127.0.1.1");
    await first?.closed();
    await finishes(second as Wire);
    await stillAnswers(other);
    // Neither can be closed while it is being served.
    for (const wire of [second as Wire, newcomer]) {
      wire.send(get("/never", "X-Request-Id: gone"));
      await app.next("began");
    }
    const refused = await Wire.open(app.port, { localAddress: "127.0.1.1" });
    assert.equal((await refused.closed()).byteLength, 0);
    leave([second, newcomer, other]);
    await app.close();
  });

  describe(`queued TLS handshakes on ${place}`, () => {
    const settings = { tls: files, connectionsPerAddress: 256 };

    test("handshakes of an address with many connections start after everyone else's", async () => {
      const app = await startApp(place, { ...settings, trustedProxies: "127.0.1.3/32" });
      const order: string[] = [];
      const open = async (localAddress: string): Promise<Wire> => {
        const wire = await Wire.open(app.port, { tls: true, localAddress });
        order.push(localAddress);
        return wire;
      };
      const many = Array.from({ length: 150 }, () => open("127.0.1.1"));
      // The first ones have started.
      await many[0];
      const others = [
        ...Array.from({ length: 4 }, () => open("127.0.1.2")),
        ...Array.from({ length: 20 }, () => open("127.0.1.3")),
      ];
      const wires = await Promise.all([...many, ...others]);
      assert.equal(order.at(-1), "127.0.1.1");
      for (const wire of wires) await stillAnswers(wire);
      leave(wires);
      await app.close();
    });

    for (const how of ["frames", "reset requests"] as const) {
      test(`handshakes of an address closed for ${how} start after those of others`, async () => {
        const app = await startApp(place, settings);
        await waste(app, how);
        const order: string[] = [];
        const open = async (localAddress: string): Promise<Wire> => {
          const wire = await Wire.open(app.port, { tls: true, localAddress });
          order.push(localAddress);
          return wire;
        };
        // The first one has no other to wait for.
        const again = [open("127.0.1.1"), open("127.0.1.1"), open("127.0.1.1")];
        await again[0];
        const others = Array.from({ length: 20 }, () => open("127.0.1.2"));
        const wires = await Promise.all([...again, ...others]);
        assert.deepEqual([order[0], order.at(-1)], ["127.0.1.1", "127.0.1.1"]);
        for (const wire of wires) await stillAnswers(wire);
        leave(wires);
        await app.close();
      });
    }

    test("a handshake that waits longer than its timeout is closed", async () => {
      const app = await startApp(place, { ...settings, bounds: { handshakeTimeoutMs: 2_000 } });
      await waste(app);
      // The last one would start after twenty seconds, unless it came so late that those before it had been closed.
      const opened = await Promise.allSettled(
        Array.from({ length: 40 }, () => Wire.open(app.port, { tls: true, localAddress: "127.0.1.1" })),
      );
      assert.equal(opened[0]?.status, "fulfilled");
      assert.ok(opened.some(({ status }) => status === "rejected"));
      for (const one of opened) if (one.status === "fulfilled") leave([one.value]);
      await app.close();
    });

    test("waiting handshakes are closed at shutdown", async () => {
      const app = await startApp(place, settings);
      await waste(app);
      const opening = Array.from(
        { length: 20 },
        () => Wire.open(app.port, { tls: true, localAddress: "127.0.1.1" }),
      );
      await opening[0];
      // The other nineteen would take ten seconds.
      const closed = app.close(60_000);
      const opened = await Promise.allSettled(opening);
      await closed;
      assert.ok(opened.filter(({ status }) => status === "rejected").length > 0);
    });
  });

  test(`hanging handshakes are limited and delay no other on ${place}`, async () => {
    const app = await startApp(place, {
      tls: files,
      bounds: { handshakesMax: 2, handshakeTimeoutMs: 60_000 },
    });
    const hanging = [await Wire.open(app.port), await Wire.open(app.port)];
    for (const wire of hanging) wire.send("\x16\x03\x01");
    const honest = await Wire.open(app.port, { tls: true });
    await stillAnswers(honest);
    await hanging[0]?.closed();
    hanging.push(await Wire.open(app.port), await Wire.open(app.port));
    await hanging[1]?.closed();
    await stillAnswers(honest);
    leave([honest, ...hanging]);
    await app.close();
  });
}
