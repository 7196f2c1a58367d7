/** A thousand clients that begin a large file, take their time and go away. */

import assert from "node:assert/strict";
import { readFileSync, truncateSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { every } from "../support/every.ts";
import { makeFolder, openFiles, put } from "../support/http/static_folder.ts";
import { get, startApp } from "../support/http/echo.ts";
import { until } from "../support/until.ts";

const clientsMax = 1_000;
const fileBytes = 200 * 1024 * 1024;
/**
 * Node: 60 MiB were seen, of which 22 MiB are the file's bytes and the rest what 1,000 connections cost. Deno: 96 MiB.
 */
const growthMaxMiB = { "node process": 100, "deno": 150 };
/** What each takes before it stops reading. */
const takenBytes = 64 * 1024;
const slowEveryMs = 50;

for (const place of ["node process", "deno"] as const) {
  test(`memory stays flat on ${place} while 1,000 clients begin 200 MB, read slowly and go away`, async (t) => {
    const folder = makeFolder();
    // A file with holes: it takes no room on the disk.
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
    // They all wait now; every second one reads on, slowly.
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

/** A client that takes a little when it is told to. */
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

  get hasBegun(): boolean {
    return this.taken >= takenBytes;
  }

  read(): void {
    this.#mark = this.taken + 1;
    this.socket.resume();
  }
}

/** Clients that have each begun the file, and now take no more of it. */
async function begin(port: number, count: number): Promise<Client[]> {
  const clients: Client[] = [];
  for (let n = 0; n < count; n++) clients.push(new Client(port));
  const what = "every client has the beginning of the file";
  await until(() => clients.every((client) => client.hasBegun), { what });
  return clients;
}

function leave(clients: readonly Client[]): void {
  for (const { socket } of clients) socket.destroy();
}

function isServed(pid: number): boolean {
  return openFiles(pid).some((path) => path.endsWith("large.bin"));
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** How many files this process and its children may have open; Node raises the soft limit to the hard one. */
function openFilesMax(): number {
  const line = /Max open files\s+\d+\s+(\d+|unlimited)/.exec(readFileSync("/proc/self/limits", "utf8"));
  return line?.[1] === undefined || line[1] === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(line[1]);
}
