import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BufferedLines, createLog, stackFrames } from "../../src/observe/log.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/folder.ts";

const folder = temporaryFolder("log");

/** Opens a pipe to this process. It accepts 64 KiB until it is read. */
function openPipe(name: string) {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let text = "";
  const read = () => {
    const bytes = new Uint8Array(1 << 20);
    try {
      for (let count = 1; count > 0;) {
        count = readSync(fd, bytes);
        text += new TextDecoder().decode(bytes.subarray(0, count));
      }
    } catch (error) {
      assert.equal((error as { code?: string }).code, "EAGAIN");
    }
    return text;
  };
  return { fd, read };
}

test("control and invisible characters are escaped and read back unchanged", () => {
  const lines: string[] = [];
  const request_id = "a\u202eb\u2028c\u2029\u200d\u{e0041}é";
  createLog({ push: (line) => lines.push(line) }, () => new Date(0)).info("request", { request_id });
  const [line = ""] = lines;
  assert.ok(line.endsWith('"a\\u202eb\\u2028c\\u2029\\u200d\\udb40\\udc41é"}'), line);
  assert.equal(JSON.parse(line).request_id, request_id);
});

test("a paused reader receives every line once, whole and in order, and drain waits for it", async () => {
  const { fd, read } = openPipe("slow");
  const writer = new BufferedLines(fd);
  const lines = Array.from({ length: 2000 }, (_, n) => `${n} `.padEnd(100, "x"));
  for (const line of lines) writer.push(line);
  await until(() => read().length >= 65_536);
  writer.push("last");
  let isDrained = false;
  const drained = writer.drain(5_000).then(() => isDrained = true);
  await until(() => {
    const text = read();
    return isDrained && text.endsWith("last\n");
  });
  await drained;
  assert.deepEqual(read().split("\n").slice(0, -2), lines);
  closeSync(fd);
});

test("once 8 MiB wait for a stalled reader, lines are dropped and their number is logged later", async () => {
  const { fd, read } = openPipe("stopped");
  const writer = new BufferedLines(fd);
  const line = "x".repeat(1024);
  for (let n = 0; n < 10_000; n += 1) writer.push(line);
  await until(() => /log_lines_dropped.*\n/.test(read()), { intervalMs: 1 });
  const text = read();
  assert.equal(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "").count, 10_000 - 8192);
  assert.equal(text.split("\n").filter((found) => found === line).length, 8192);
  await writer.drain(1_000);
  writer.push("after");
  await until(() => read().endsWith("after\n"));
  await writer.drain(1_000);
  closeSync(fd);
});

test("a closed output stops nothing", async () => {
  const path = join(folder, "gone");
  const fd = openSync(path, "w");
  const writer = new BufferedLines(fd);
  closeSync(fd);
  writer.push("nobody reads this");
  writer.flush();
  const other = new BufferedLines(fd);
  other.push("nor this");
  await until(() => {
    other.push("and goes on");
    return true;
  });
});

test("a logged stack contains only frames, whatever the message contains", () => {
  const error = new Error("Zlead\nAda Lovelace\nat Zhome, +15551234567");
  const frames = stackFrames(error);
  assert.match(frames, /^ +at .*log\.test\.ts/);
  assert.doesNotMatch(frames, /Zlead|Ada Lov|Zhome|\+1555/);
  assert.equal(stackFrames("no error"), "");
});
