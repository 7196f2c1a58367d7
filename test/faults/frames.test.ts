/** HTTP/2 clients that send what nobody asked for, and random frames. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { after, describe, test, type TestContext } from "node:test";
import { type App, get, startApp, Wire } from "../support/http/echo.ts";
import { type Chance, chanceOf, rounds } from "../support/faults/random.ts";
import { FrameClient } from "../support/http/frames.ts";
import { frame, requests } from "../support/http/http2_frames.ts";
import { selfSigned } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const tls = selfSigned(temporaryFolder(), "frames");
const clientsAtOnce = 20;
/** A turn of the event loop in processor time, and resident memory: half of it and less was seen. */
const turnMaxMs = 1_000;
const growthMaxMiB = 200;

for (const place of ["node process", "deno"] as const) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { tls });
    after(() => app.close());
    // What the first requests of a process cost is not theirs.
    for (let request = 0; request < 50; request++) await longestTurn(app.port);
    const before = { openFiles: openFiles(app), residentMiB: residentMiB(app) };

    async function assertCheap(t: TestContext): Promise<void> {
      const turnMs = await longestTurn(app.port);
      const growthMiB = residentMiB(app) - before.residentMiB;
      t.diagnostic(`the longest turn ${turnMs.toFixed(0)} ms, ${growthMiB.toFixed(0)} MiB more`);
      assert.ok(turnMs < turnMaxMs, `a turn of ${turnMs} ms`);
      assert.ok(growthMiB < growthMaxMiB, `${growthMiB} MiB more`);
      await until(() => openFiles(app) <= before.openFiles, { what: "no descriptor is left" });
      assert.deepEqual(app.events.filter(({ event }) => event === "fault"), []);
    }

    test("acknowledgements of PINGs that were never sent end the connection and cost little", async (t) => {
      const acknowledgement = frame("ping", { flags: 0x1, payload: Buffer.alloc(8) });
      const bytes = Buffer.concat(Array.from({ length: 250_000 }, () => acknowledgement));
      const clients = await openClients(app, () => 65_535);
      for (const client of clients) client.send(bytes);
      for (const client of clients) await client.closed();
      await assertCheap(t);
    });

    test("random frames harm no other client and cost little", async (t) => {
      const chance = chanceOf(t);
      for (let round = 0; round < rounds(20); round++) {
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

/** A request, one with a byte of it changed, or a frame of any type with any flags. */
function anyFrame(chance: Chance): Uint8Array {
  const asked = requests("one.test", chance.pick(["/name", "/document", "/stream?3", "/seen"]), {
    count: 1,
    first: chance.below(20),
    isReset: chance.oneIn(4),
  });
  if (chance.oneIn(2)) return asked;
  if (chance.oneIn(2)) {
    asked[chance.below(asked.length)] = chance.below(256);
    return asked;
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

/** What the app's longest turn took since this was last called, in processor time. */
async function longestTurn(port: number): Promise<number> {
  const wire = await Wire.open(port, { tls: true });
  wire.send(get("/turn"));
  const { body } = await wire.answer();
  wire.socket.destroy();
  return Number(body.toString());
}

function openFiles({ pid }: App): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function residentMiB({ pid }: App): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
