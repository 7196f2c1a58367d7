import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { isSigned } from "../../src/plans/stripe_signature.ts";

const secret = "whsec_test";
const nowSeconds = 1_700_000_000;
const body = new TextEncoder().encode('{"id":"evt_1"}');
const sign = (by = secret, time: number | string = nowSeconds, bytes = body) =>
  createHmac("sha256", by).update(`${time}.`).update(bytes).digest("hex");
const check = (
  header: string | undefined,
  rule: { secrets?: string[]; nowSeconds?: number; body?: Uint8Array } = {},
) =>
  isSigned(rule.body ?? body, header, {
    secrets: rule.secrets ?? [secret],
    nowSeconds: rule.nowSeconds ?? nowSeconds,
  });

test("a signature of the very bytes by the secret is right, whatever stands beside it", () => {
  for (
    const header of [
      `t=${nowSeconds},v1=${sign()}`,
      `v1=${sign()},t=${nowSeconds}`,
      `t=${nowSeconds}, v1=${sign()}`,
      `t=${nowSeconds},v1=${sign("whsec_old")},v1=${sign()},v0=${"0".repeat(64)}`,
      `t=${nowSeconds},v1=${sign().toUpperCase()}`,
      `t=${nowSeconds},x,=,v1=,v1=${sign()}`,
    ]
  ) assert.ok(check(header), header);
});

test("no header, no time, two times, no v1, another scheme, a cut or prolonged signature are wrong", () => {
  const right = sign();
  for (
    const header of [
      undefined,
      "",
      `v1=${right}`,
      `t=${nowSeconds}`,
      `t=,v1=${right}`,
      `t=${nowSeconds},t=${nowSeconds},v1=${right}`,
      `t=${nowSeconds},v0=${right}`,
      `t=${nowSeconds},v1=${right.slice(0, 63)}`,
      `t=${nowSeconds},v1=${right}00`,
      `t=${nowSeconds},v1=${right.slice(0, 62)}zz`,
      `t=-${nowSeconds},v1=${sign(secret, -nowSeconds)}`,
      `t=0x10,v1=${right}`,
      `t=${nowSeconds}.0,v1=${right}`,
      `t=${nowSeconds};v1=${right}`,
    ]
  ) assert.ok(!check(header), header);
});

test("a time up to 300 s away in either direction is right, one of 301 s is not", () => {
  for (const [offset, isRight] of [[-301, false], [-300, true], [300, true], [301, false]] as const) {
    const time = nowSeconds + offset;
    assert.equal(check(`t=${time},v1=${sign(secret, time)}`), isRight, String(offset));
  }
  assert.ok(!check(`t=${nowSeconds + 1},v1=${sign()}`), "the time is signed");
});

test("whatever bit of body or signature is changed, it is wrong", () => {
  const header = `t=${nowSeconds},v1=${sign()}`;
  fc.assert(fc.property(fc.nat({ max: body.length * 8 - 1 }), (bit) => {
    const changed = body.slice();
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.ok(!check(header, { body: changed }));
  }));
  fc.assert(fc.property(fc.nat({ max: 255 }), (bit) => {
    const changed = Buffer.from(sign(), "hex");
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.ok(!check(`t=${nowSeconds},v1=${changed.toString("hex")}`));
  }));
  assert.ok(!check(header, { body: new Uint8Array([...body, 0x0a]) }));
});
