/** Tests HTTP/2 clients that send unsolicited and random frames. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, describe, test, type TestContext } from "node:test";
import { type App, get, startApp, Wire } from "../support/http/echo.ts";
import { type Random, randomOf } from "../support/faults/random.ts";
import { residentMiB } from "../support/faults/process.ts";
import { FrameClient } from "../support/http/frames.ts";
import { frame, requests } from "../support/http/http2_frames.ts";
import { openFiles } from "../support/http/static_folder.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const tls = selfSigned(temporaryFolder(), "frames");
const clientsAtOnce = 20;
/** Limits of an event loop turn in processor time and of memory growth, at least twice the measured values. */
const turnMaxMs = 1_000;
const growthMaxMiB = 200;

for (const place of ["node process", "deno"] as const) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { tls });
    after(() => app.close());
    // Excludes the cost of a process's first requests.
    for (let request = 0; request < 50; request++) await longestTurn(app.port);
    const before = { openFiles: openFiles(app.pid).length, residentMiB: residentMiB(app.pid) };

    async function assertCheap(t: TestContext): Promise<void> {
      const turnMs = await longestTurn(app.port);
      const growthMiB = residentMiB(app.pid) - before.residentMiB;
      t.diagnostic(`the longest turn ${turnMs.toFixed(0)} ms, ${growthMiB.toFixed(0)} MiB more`);
      assert.ok(turnMs < turnMaxMs, `a turn of ${turnMs} ms`);
      assert.ok(growthMiB < growthMaxMiB, `${growthMiB} MiB more`);
      await until(() => openFiles(app.pid).length <= before.openFiles, { what: "no descriptor is left" });
      assert.deepEqual(app.events.filter(({ event }) => event === "fault"), []);
    }

    test("unsolicited PING acknowledgements close the connection and cost little", async (t) => {
      const acknowledgement = frame("ping", { flags: 0x1, payload: Buffer.alloc(8) });
      const bytes = Buffer.concat(Array.from({ length: 250_000 }, () => acknowledgement));
      const clients = await openClients(app, () => 65_535);
      for (const client of clients) client.send(bytes);
      for (const client of clients) await client.closed();
      await assertCheap(t);
    });

    test("random frames affect no other client and cost little", async (t) => {
      const chance = randomOf(t);
      for (let round = 0; round < 20; round++) {
        const clients = await openClients(app, () => chance.pick([0, 1, 65_535]));
        for (const client of clients) {
          client.send(Buffer.concat(Array.from({ length: 50 }, () => anyFrame(chance))));
        }
        const other = await FrameClient.open(app.port);
        other.ask("/name");
        await other.next("data");
        for (const client of [...clients, other]) client.destroy();
      }
      await assertCheap(t);
    });
  });
}

function openClients(app: App, windowBytes: () => number): Promise<FrameClient[]> {
  return Promise.all(
    Array.from({ length: clientsAtOnce }, () => FrameClient.open(app.port, { windowBytes: windowBytes() })),
  );
}

/** Returns a request, a request with a changed byte, or a random frame. */
function anyFrame(chance: Random): Uint8Array {
  const exchanges = requests("one.test", chance.pick(["/name", "/document", "/stream?3", "/seen"]), {
    count: 1,
    first: chance.below(20),
    isReset: chance.oneIn(4),
  });
  if (chance.oneIn(2)) return exchanges;
  if (chance.oneIn(2)) {
    exchanges[chance.below(exchanges.length)] = chance.below(256);
    return exchanges;
  }
  const length = chance.pick([0, 1, 4, 5, 6, 8, 9, 100]);
  const bytes = frame("data", {
    flags: chance.below(256),
    stream: chance.pick([0, 1, 2, 3, 39, 2 ** 31 - 1]),
    payload: Buffer.from(Array.from({ length }, () => chance.below(256))),
  });
  bytes[3] = chance.below(12);
  return bytes;
}

/** Returns the longest event loop turn since the last call, in ms of processor time. */
async function longestTurn(port: number): Promise<number> {
  const wire = await Wire.open(port, { tls: true });
  wire.send(get("/turn"));
  const { body } = await wire.answer();
  wire.socket.destroy();
  return Number(body.toString());
}
