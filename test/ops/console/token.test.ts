import assert from "node:assert/strict";
import test from "node:test";
import { Tokens } from "../../../src/ops/console/request.ts";

const hourMs = 3_600_000;
const secret = (byte: number) => new Uint8Array(32).fill(byte);

test("a token is good for its own path and process, for eight hours", () => {
  let nowMs = 1_000_000;
  const tokens = new Tokens(secret(1), () => nowMs);
  const token = tokens.issue("/dead/replay");
  assert.equal(tokens.check("/dead/replay", token), "good");
  assert.equal(tokens.check("/held/review", token), "wrong");
  assert.equal(new Tokens(secret(2), () => nowMs).check("/dead/replay", token), "wrong", "another process");
  assert.equal(new Tokens(secret(1), () => nowMs).check("/dead/replay", token), "good");
  nowMs += 8 * hourMs - 1;
  assert.equal(tokens.check("/dead/replay", token), "good");
  nowMs += 2;
  assert.equal(tokens.check("/dead/replay", token), "expired");
});

test("a note says what was done for a minute, and none can be made up", () => {
  let nowMs = 1_000_000;
  const tokens = new Tokens(secret(1), () => nowMs);
  const note = tokens.note("replayed", 3);
  assert.deepEqual(tokens.readNote(note), { code: "replayed", count: 3 });
  assert.equal(tokens.readNote(note.replace(".3.", ".4.")), null);
  assert.equal(tokens.check("replayed.3", note.split(".").slice(2).join(".")), "wrong", "a note is no token");
  assert.equal(tokens.readNote(`replayed.3.${tokens.issue("replayed.3")}`), null, "a token is no note");
  nowMs += 60_001;
  assert.equal(tokens.readNote(note), null);
});
