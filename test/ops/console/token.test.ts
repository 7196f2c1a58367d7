import assert from "node:assert/strict";
import test from "node:test";
import { Tokens } from "../../../src/ops/console/request.ts";

const hourMs = 3_600_000;
const secret = (byte: number) => new Uint8Array(32).fill(byte);

test("a token is valid for eight hours, for its path and process only", () => {
  let nowMs = 1_000_000;
  const tokens = new Tokens(secret(1), () => nowMs);
  const token = tokens.issue("/dead/replay");
  assert.equal(tokens.check("/dead/replay", token), "valid");
  assert.equal(tokens.check("/held/review", token), "invalid");
  assert.equal(new Tokens(secret(2), () => nowMs).check("/dead/replay", token), "invalid", "another process");
  assert.equal(new Tokens(secret(1), () => nowMs).check("/dead/replay", token), "valid");
  nowMs += 8 * hourMs - 1;
  assert.equal(tokens.check("/dead/replay", token), "valid");
  nowMs += 2;
  assert.equal(tokens.check("/dead/replay", token), "expired");
});

test("a note is shown for a minute and cannot be forged", () => {
  let nowMs = 1_000_000;
  const tokens = new Tokens(secret(1), () => nowMs);
  const note = tokens.note("replayed", 3);
  assert.deepEqual(tokens.readNote(note), { code: "replayed", count: 3 });
  assert.equal(tokens.readNote(note.replace(".3.", ".4.")), null);
  assert.equal(
    tokens.check("replayed.3", note.split(".").slice(2).join(".")),
    "invalid",
    "a note is no token",
  );
  assert.equal(tokens.readNote(`replayed.3.${tokens.issue("replayed.3")}`), null, "a token is no note");
  nowMs += 60_001;
  assert.equal(tokens.readNote(note), null);
});
