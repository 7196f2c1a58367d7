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

function begun(app: App): Promise<unknown> {
  return app.next((event): event is typeof event => event.event === "began");
}

/** Clients that have sent half a post, each of which has begun. */
async function halfPosts(app: App, addresses: readonly string[]): Promise<Wire[]> {
  const wires: Wire[] = [];
  for (const localAddress of addresses) {
    const wire = await Wire.open(app.port, { localAddress });
    wire.send(halfPost);
    await begun(app);
    wires.push(wire);
  }
  return wires;
}

/** Asks on a connection that stays. */
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
/** What a client may send that brings nothing. */
const wasteful = {
  "frames": () => updates,
  "requests it takes back": (round: number) =>
    requests("one.test", "/never", { count: 100, first: 100 * round, isReset: true }),
};

/** Has a connection of 127.0.1.1 ended for what it sends. */
async function waste(app: App, how: keyof typeof wasteful = "frames"): Promise<void> {
  const client = await FrameClient.open(app.port, { localAddress: "127.0.1.1" });
  // Far more than is taken.
  for (let round = 0; round < 10_000 && !client.isClosed; round++) {
    if (!client.send(wasteful[how](round))) await new Promise((resolve) => setImmediate(resolve));
  }
  await client.closed();
}

function leave(wires: readonly (Wire | undefined)[]): void {
  for (const wire of wires) wire?.socket.destroy();
}

test("an address has 256 connections; trusted proxies and this machine have no bound of their own, unless it is set", () => {
  const options = {
    surfaces: [{ hosts: ["one.test"] }],
    trustedProxies: parseNetworks("10.0.0.0/8"),
  } as unknown as ListenOptions;
  const bounds = (of: ListenOptions) =>
    ["192.0.2.1", "2001:db8::1", "10.1.2.3", "127.0.0.1", "::ffff:127.0.0.2", "::1"].map((address) => {
      const edge = new Edge(of);
      return edge.connectionsOfAddressMax(edge.peer(address));
    });
  assert.deepEqual(bounds(options), [256, 256, Infinity, Infinity, Infinity, Infinity]);
  assert.deepEqual(bounds({ ...options, connectionsPerAddress: 7 }), [7, 7, 7, 7, 7, 7]);
});

for (const place of places) {
  test(`a post whose body is a moment late stays, and an idle connection goes for the newcomer, on ${place}`, async () => {
    // Longer than any machine takes for this test.
    const app = await startApp(place, { bounds: { connectionsMax: 4, slotPatienceMs: 600_000 } });
    after(() => app.close());
    const idle = [await asked(app, "127.0.1.1"), await asked(app, "127.0.1.1")];
    const half = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    const newcomers = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    for (const wire of idle) assert.equal((await wire.closed()).byteLength, 0);
    for (const wire of [...half, ...newcomers]) await finishes(wire);
    leave([...half, ...newcomers]);
  });

  describe(`when slots run short on ${place}`, async () => {
    const app = await startApp(place, { bounds: { connectionsMax: 4, slotPatienceMs: 0 } });
    after(() => app.close());

    test("half posts go before a newcomer who sends a request, the oldest first", async () => {
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

    test("what waits for its client goes before what is idle, and what is being answered never", async () => {
      const held = await Wire.open(app.port, { localAddress: "127.0.1.1" });
      held.send(get("/held"));
      await begun(app);
      const idle = await asked(app, "127.0.1.2");
      const [half] = await halfPosts(app, ["127.0.1.3"]);
      const silent = await Wire.open(app.port, { localAddress: "127.0.1.4" });
      const first = await asked(app, "127.0.2.1");
      await half?.closed();
      const second = await asked(app, "127.0.2.2");
      await silent.closed();
      await stillAnswers(idle);
      // Only idle ones are left.
      const third = await Wire.open(app.port, { localAddress: "127.0.2.3" });
      await idle.closed();
      third.send(post("/release", ""));
      assert.equal((await third.answer()).status, 200);
      assert.equal((await held.answer()).body.toString(), "held");
      leave([held, first, second, third]);
    });

    test("the address with the most connections loses first", async () => {
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

  test(`connections of one address are bounded on ${place}, whatever others have`, async () => {
    const app = await startApp(place, { connectionsPerAddress: 2 });
    const [first, second] = await halfPosts(app, ["127.0.1.1", "127.0.1.1"]);
    const other = await asked(app, "127.0.1.2");
    const newcomer = await asked(app, "127.0.1.1");
    await first?.closed();
    await finishes(second as Wire);
    await stillAnswers(other);
    // Neither of the two can go while it is being answered.
    for (const wire of [second as Wire, newcomer]) {
      wire.send(get("/never", "X-Request-Id: gone"));
      await begun(app);
    }
    const refused = await Wire.open(app.port, { localAddress: "127.0.1.1" });
    assert.equal((await refused.closed()).byteLength, 0);
    leave([second, newcomer, other]);
    await app.close();
  });

  describe(`TLS handshakes in line on ${place}`, () => {
    const settings = { tls: files, connectionsPerAddress: 256 };

    test("those of an address with many connections begin one after the other, everybody else's before them", async () => {
      const app = await startApp(place, { ...settings, trustedProxies: "127.0.1.3/32" });
      const order: string[] = [];
      const open = async (localAddress: string): Promise<Wire> => {
        const wire = await Wire.open(app.port, { tls: true, localAddress });
        order.push(localAddress);
        return wire;
      };
      const many = Array.from({ length: 150 }, () => open("127.0.1.1"));
      // The first ones have begun.
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

    for (const how of ["frames", "requests it takes back"] as const) {
      test(`one whose connection had to be ended for ${how} begins after the many of others`, async () => {
        const app = await startApp(place, settings);
        await waste(app, how);
        const order: string[] = [];
        const open = async (localAddress: string): Promise<Wire> => {
          const wire = await Wire.open(app.port, { tls: true, localAddress });
          order.push(localAddress);
          return wire;
        };
        // The first of them has nobody to wait for.
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

    test("who has waited for longer than a handshake may take is closed", async () => {
      const app = await startApp(place, { ...settings, bounds: { handshakeTimeoutMs: 2_000 } });
      await waste(app);
      // The last of them would begin after twenty seconds.
      const opened = await Promise.allSettled(
        Array.from({ length: 40 }, () => Wire.open(app.port, { tls: true, localAddress: "127.0.1.1" })),
      );
      assert.deepEqual([opened[0]?.status, opened.at(-1)?.status], ["fulfilled", "rejected"]);
      for (const one of opened) if (one.status === "fulfilled") leave([one.value]);
      await app.close();
    });

    test("who still waits when the service ends is closed", async () => {
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

  test(`handshakes that hang are bounded on ${place}, and hold up no other`, async () => {
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
