import assert from "node:assert/strict";
import { test } from "node:test";
import { ActionsMeters } from "../../src/observe/actions_meters.ts";

test("effects are counted by kind and word, statuses by their first digit, digests by whether they were sent", () => {
  const meters = new ActionsMeters();
  meters.expect(["crm", "email"]);
  const reasons = [null, "http_404", "http_410", "http_503", "smtp_rejected_550", "timeout_tls"];
  for (const reason of reasons) {
    meters.observe({ kind: "effect", destination: "crm", reason, durationMs: 40 });
  }
  meters.observe({ kind: "digest", reason: null });
  meters.observe({ kind: "digest", reason: "timeout" });
  const lines = meters.registry.text().split("\n").filter((line) =>
    /^lead_(effects|digests)_total/.test(line)
  );
  assert.deepEqual(lines, [
    'lead_effects_total{kind="crm",outcome="done"} 1',
    'lead_effects_total{kind="email",outcome="done"} 0',
    'lead_effects_total{kind="crm",outcome="http_4xx"} 2',
    'lead_effects_total{kind="crm",outcome="http_5xx"} 1',
    'lead_effects_total{kind="crm",outcome="smtp_rejected_5xx"} 1',
    'lead_effects_total{kind="crm",outcome="timeout_tls"} 1',
    'lead_digests_total{outcome="sent"} 1',
    'lead_digests_total{outcome="failed"} 1',
  ]);
  assert.match(meters.registry.text(), /lead_effect_duration_seconds_count\{kind="crm"\} 6/);
});
