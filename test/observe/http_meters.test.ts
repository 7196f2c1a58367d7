import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpMeters } from "../../src/observe/http_meters.ts";
import { Registry } from "../../src/observe/registry.ts";

test("a certificate is known by its end, and refused until what is on the disk can be used again", () => {
  const registry = new Registry();
  const meters = new HttpMeters(registry);
  const refused = () => /^lead_certificate_refused\{files="listener"\} (\d)$/m.exec(registry.text())?.[1];
  meters.observe({ kind: "certificate_in_use", files: "listener", endsAtMs: 1_800_000_000_000 });
  assert.match(
    registry.text(),
    /^lead_certificate_expiry_timestamp_seconds\{files="listener"\} 1800000000$/m,
  );
  assert.equal(refused(), "0");
  meters.observe({ kind: "certificate_refused", files: "listener", error: new Error() });
  assert.equal(refused(), "1");
  meters.observe({ kind: "certificate_in_use", files: "listener", endsAtMs: 1_800_000_000_000 });
  assert.equal(refused(), "0");
});
