import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { every } from "../support/every.ts";
import { FrameClient } from "../support/http/frames.ts";
import { places, startApp } from "../support/http/echo.ts";
import { requests } from "../support/http/http2_frames.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";

const tls = selfSigned(temporaryFolder(), "unread");
// RFC 9113, section 7.
const refusedStream = 0x7;
const cancel = 0x8;
const enhanceYourCalm = 0xb;
const stalling = { requestTimeoutMs: 300, stallTimeoutMs: 300 };

for (const place of places) {
  describe(`unread responses over HTTP/2 on ${place}`, async () => {
    const app = await startApp(place, { tls, bounds: stalling });
    after(() => app.close());

    test("close the connection, whether short, long or endless", async () => {
      for (const path of ["/name", "/document", "/stream?100000"]) {
        const client = await FrameClient.open(app.port, { windowBytes: 0 });
        client.ask(path, 5);
        assert.equal(await client.goaway(), enhanceYourCalm);
        await client.closed();
        for (let answer = 0; answer < 5; answer++) {
          assert.equal((await app.access(({ route }) => path.startsWith(route))).aborted, true);
        }
      }
    });

    test("close the connection if the client opens the windows only byte by byte", async (t) => {
      const client = await FrameClient.open(app.port, { windowBytes: 1 });
      client.ask("/document", 5);
      every(t, 20, () => [1, 3, 5, 7, 9].forEach((stream) => client.open(stream, 1)));
      assert.equal(await client.goaway(), enhanceYourCalm);
      await client.closed();
    });

    test("close the connection without reporting a pending body as a fault", async () => {
      const client = await FrameClient.open(app.port, { windowBytes: 0 });
      client.ask("/name");
      client.send(requests("one.test", "/echo", { count: 1, first: 1, isOpenPost: true }));
      assert.equal(await client.goaway(), enhanceYourCalm);
      for (const route of ["/name", "/echo"]) {
        assert.equal((await app.access((access) => access.route === route)).aborted, true);
      }
      assert.deepEqual(app.events.filter(({ event }) => event === "fault"), []);
    });

    test("close the connection if the client opens every window and reads nothing, without delaying the shutdown", async () => {
      const hasty = await startApp(place, { tls, bounds: stalling, graceMs: 120_000 });
      const client = await FrameClient.open(hasty.port, { windowBytes: 2 ** 30 });
      client.open(0, 2 ** 30);
      client.socket.pause();
      client.ask("/stream?1000");
      assert.equal((await hasty.access()).aborted, true);
      // Longer than the test's deadline.
      await hasty.close(120_000);
      client.destroy();
    });

    test("are reset one by one while the client reads others", async (t) => {
      // Long enough to observe reads on a busy machine.
      const patient = await startApp(place, { tls, bounds: { ...stalling, stallTimeoutMs: 3_000 } });
      const client = await FrameClient.open(patient.port, { windowBytes: 0 });
      client.ask("/document");
      let stream = 1;
      const stop = every(t, 20, () => {
        client.ask("/name");
        client.open(stream += 2, 65_535);
      });
      const reset = await client.next("rst_stream");
      stop();
      assert.deepEqual([reset.stream, reset.payload.readUInt32BE(0)], [1, cancel]);
      assert.ok(!client.isClosed);
      client.destroy();
      await patient.close();
    });
  });

  test(`over the maximum of unread responses the connection that has waited longest is closed on ${place}`, async () => {
    const app = await startApp(place, { tls, bounds: { unreadResponsesMax: 10 } });
    const [longest, later] = [
      await FrameClient.open(app.port, { windowBytes: 0 }),
      await FrameClient.open(app.port, { windowBytes: 0 }),
    ];
    longest.ask("/document", 6);
    for (let answer = 0; answer < 6; answer++) await longest.next("headers");
    later.ask("/document", 5);
    assert.equal(await longest.goaway(), enhanceYourCalm);
    await longest.closed();
    later.open(1, 100_000);
    await later.next("data");
    assert.ok(!later.isClosed);
    later.destroy();
    await app.close();
  });

  test(`unread responses are limited per address on ${place}`, async () => {
    const app = await startApp(place, {
      tls,
      bounds: { unreadPerAddressMax: 5 },
      connectionsPerAddress: 100,
    });
    const open = (localAddress: string) => FrameClient.open(app.port, { windowBytes: 0, localAddress });
    const other = await open("127.0.1.1");
    other.ask("/document", 5);
    const first = await open("127.0.1.2");
    first.ask("/document", 5);
    for (let answer = 0; answer < 5; answer++) await first.next("headers");
    const second = await open("127.0.1.2");
    second.ask("/document");
    assert.equal(await first.goaway(), enhanceYourCalm);
    second.open(1, 100_000);
    await second.next("data");
    assert.ok(!other.isClosed);
    for (const client of [other, first, second]) client.destroy();
    await app.close();
  });

  test(`an address has 100 streams on each of two connections and 16 on others on ${place}`, async () => {
    const app = await startApp(place, { tls, connectionsPerAddress: 100 });
    const open = (localAddress: string) => FrameClient.open(app.port, { localAddress });
    const streamsOf = async (client: FrameClient) => {
      client.ask("/never", 101);
      const reset = await client.next("rst_stream");
      assert.equal(reset.payload.readUInt32BE(0), refusedStream);
      // Client streams have odd numbers.
      return (reset.stream - 1) / 2;
    };
    const clients: FrameClient[] = [];
    for (
      const [localAddress, streams] of [["127.0.1.1", 100], ["127.0.1.1", 100], ["127.0.1.1", 16], [
        "127.0.1.2",
        100,
      ]] as const
    ) {
      const client = await open(localAddress);
      clients.push(client);
      assert.equal(await streamsOf(client), streams);
    }
    for (const client of clients) client.destroy();
    await app.close();
  });

  test(`while many responses are unread, their address gets few concurrent streams on ${place}`, async () => {
    const app = await startApp(place, { tls, bounds: { unreadResponsesMax: 20 } });
    const stalled = await FrameClient.open(app.port, { windowBytes: 0 });
    stalled.ask("/document", 10);
    for (let answer = 0; answer < 10; answer++) await stalled.next("headers");
    const honest = await FrameClient.open(app.port);
    honest.ask("/never", 6);
    for (const stream of [9, 11]) {
      const reset = await honest.next("rst_stream");
      assert.deepEqual([reset.stream, reset.payload.readUInt32BE(0)], [stream, refusedStream]);
    }
    const other = await FrameClient.open(app.port, { localAddress: "127.0.1.2" });
    other.ask("/never", 101);
    assert.equal((await other.next("rst_stream")).stream, 201);
    for (const client of [stalled, honest, other]) client.destroy();
    await app.close();
  });
}
