/** Tests a thousand clients that start a large download, read slowly and leave. */

import assert from "node:assert/strict";
import { truncateSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { every } from "../support/every.ts";
import { openFilesMax, residentMiB } from "../support/faults/process.ts";
import { makeFolder, openFiles, put } from "../support/http/static_folder.ts";
import { get, startApp } from "../support/http/echo.ts";
import { until } from "../support/until.ts";

const clientsMax = 1_000;
const fileBytes = 200 * 1024 * 1024;
/** Measured: 60 MiB on Node and 96 MiB on Deno, most of it for 1,000 connections. */
const growthMaxMiB = { "node process": 100, "deno": 150 };
/** The bytes that each client reads before it pauses. */
const takenBytes = 64 * 1024;
const slowEveryMs = 50;

for (const place of ["node process", "deno"] as const) {
  test(`memory stays flat on ${place} while 1,000 clients start a 200 MB download, read slowly and leave`, async (t) => {
    const folder = makeFolder();
    // A sparse file occupies no disk space.
    truncateSync(put(folder, "large.bin", ""), fileBytes);
    put(folder, "small.txt", "small");
    const app = await startApp(place, { folder });
    t.after(() => app.close());
    const warm = await begin(app.port, 100);
    leave(warm);
    const openNow = () => openFiles(app.pid).length;
    await until(() => !isServed(app.pid));
    const before = { memory: residentMiB(app.pid), files: openNow() };
    let highest = 0;
    const stopSampling = every(t, 20, () => highest = Math.max(highest, residentMiB(app.pid)));

    const count = Math.min(clientsMax, openFilesMax() - 500);
    const clients = await begin(app.port, count);
    t.after(() => leave(clients));
    // All are paused; every second one reads on slowly.
    const slow = clients.filter((_, index) => index % 2 === 0);
    let rounds = 0;
    const stopReading = every(t, slowEveryMs, () => {
      rounds += 1;
      for (const client of slow) client.read();
    });
    await until(() => rounds >= 40);
    assert.ok(isServed(app.pid));
    const small = await fetch(`http://127.0.0.1:${app.port}/small.txt`, { headers: { Connection: "close" } });
    assert.equal(await small.text(), "small");
    stopReading();
    leave(clients);
    await until(() => !isServed(app.pid) && openNow() <= before.files + 5);
    stopSampling();
    t.diagnostic(
      `${count} clients; resident memory ${before.memory.toFixed(0)} MiB before, ${
        highest.toFixed(0)
      } MiB at most, ` +
        `${residentMiB(app.pid).toFixed(0)} MiB after`,
    );
    assert.ok(highest - before.memory < growthMaxMiB[place], `${highest - before.memory} MiB more`);
  });
}

/** A client that reads a little on request. */
class Client {
  readonly socket: Socket;
  taken = 0;
  #mark = takenBytes;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1" });
    this.socket.on("error", () => {}).on("data", (chunk) => {
      this.taken += chunk.length;
      if (this.taken >= this.#mark) this.socket.pause();
    });
    this.socket.write(get("/large.bin"));
  }

  get isStarted(): boolean {
    return this.taken >= takenBytes;
  }

  read(): void {
    this.#mark = this.taken + 1;
    this.socket.resume();
  }
}

/** Starts clients that have each read the start of the file and paused. */
async function begin(port: number, count: number): Promise<Client[]> {
  const clients: Client[] = [];
  for (let n = 0; n < count; n++) clients.push(new Client(port));
  const what = "every client has the start of the file";
  await until(() => clients.every((client) => client.isStarted), { what });
  return clients;
}

function leave(clients: readonly Client[]): void {
  for (const { socket } of clients) socket.destroy();
}

function isServed(pid: number): boolean {
  return openFiles(pid).some((path) => path.endsWith("large.bin"));
}
