/**
 * Planted bugs of the way from the outbox to the customer.
 *
 * @module
 */

import { type Bug, edit } from "./bug.ts";

const settle = "sql/functions/settle_outbox.sql";
const claim = "sql/functions/claim_outbox.sql";

/** The bugs. */
export const deliveringBugs: readonly Bug[] = [
  {
    name: "lease forgotten",
    what: "what a dead process had claimed is never claimed again",
    edits: [edit(
      claim,
      "lease_until = v_now + make_interval(secs => p_lease_ms / 1000.0)",
      "lease_until = v_now + make_interval(days => 1)",
    )],
    steps: ["kill", "downstream_slow"],
  },
  {
    name: "claimed twice",
    what: "two processes claim the same row",
    edits: [
      edit(claim, "      for update skip locked\n", ""),
      edit(
        claim,
        "where o.ctid = d.place and (d.lease is null or d.spent < p_attempts_max)",
        "where o.event_id = d.event_id",
      ),
    ],
    steps: [],
  },
  {
    name: "settle error swallowed",
    what: "a settlement that could not be written is forgotten",
    edits: [edit(
      "src/delivery/settler.ts",
      "    this.#waiting = [...batch, ...this.#waiting];\n",
      "",
    )],
    steps: ["backends_terminate"],
  },
  {
    name: "settles another's",
    what: "an effect that is settled settles those of other events that are being made",
    edits: [edit(
      "sql/functions/actions_settle_effect.sql",
      "where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and not e.is_done",
      "where e.route_id = p_route_id and e.round = p_round and not e.is_done",
    )],
    steps: ["downstream_failing"],
    hasActions: true,
  },
  {
    name: "effect memory not asked",
    what: "an event that comes again is done again",
    edits: [
      edit("src/actions/effects.ts", 'if (effect.state === "done") return "done";', ""),
      edit(
        "sql/functions/actions_begin_effects.sql",
        "    where not e.is_done and (e.lease is null or e.lease_until <= v_now);",
        "    where e.lease is null or e.lease_until <= v_now;",
      ),
      edit(
        "sql/functions/actions_begin_effects.sql",
        "lease_until = excluded.lease_until, attempts",
        "lease_until = excluded.lease_until, is_done = false, attempts",
      ),
    ],
    steps: ["kill"],
    hasActions: true,
  },
  {
    name: "route of another tenant",
    what: "a lead goes to every customer's CRM",
    edits: [
      edit(
        "sql/functions/actions_routes_for.sql",
        "where r.tenant_id = p_tenant_id and r.source",
        "where r.tenant_id >= p_tenant_id and r.source",
      ),
    ],
    steps: [],
    hasActions: true,
  },
  {
    name: "sandbox delivered",
    what: "a sandbox's lead goes to a customer's CRM",
    edits: [
      edit(
        "sql/functions/actions_routes_for.sql",
        "where r.tenant_id = p_tenant_id and r.source",
        "where (r.tenant_id = p_tenant_id or exists (select from tenant as t where t.id = p_tenant_id and t.sandbox)) and r.source",
      ),
      edit(
        "src/store/delivery/effects.ts",
        '    if (first.sandbox) return { kind: "sandbox" };\n    if (first.effect === null)',
        "    if (first.effect === null)",
      ),
    ],
    steps: [],
    hasActions: true,
  },
  {
    name: "breaker never closes",
    what: "once the tier was away, nothing is sent any more",
    edits: [
      edit(
        "src/delivery/breaker.ts",
        'if (this.#state !== "open") return;\n    this.#window = 1;',
        "if (this.#awaySinceMs !== null) return;\n    this.#window = 1;",
      ),
    ],
    steps: ["downstream_down"],
  },
  {
    name: "floor skips a row",
    what: "what is due before the newest claimed row is not looked for",
    edits: [
      edit("src/delivery/tenant_queue.ts", "const floorLagMs = 10_000;", "const floorLagMs = -1_000;"),
      edit(
        "src/delivery/tenant_queue.ts",
        "  forgetFloor(): void {\n    this.#newestDueMs = Number.NEGATIVE_INFINITY;",
        "  forgetFloor(): void {",
      ),
    ],
    steps: [],
  },
  {
    name: "no look without a hint",
    what: "what nobody announces is not looked for",
    edits: [
      edit(
        "src/delivery/poller.ts",
        "this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);",
        "if (this.#isHinted) this.#schedule(hintGapMs);",
      ),
      edit("src/store/delivery/listener.ts", "if (node !== this.#options.node) this.#options.onHint();", ""),
    ],
    steps: [],
  },
  {
    name: "retry under a new id",
    what: "a second attempt comes as another event",
    edits: [edit(
      "src/delivery/loop.ts",
      "this.#parts.send(row.event_id, payload(row))",
      'this.#parts.send(row.event_id + (row.number > 1 ? "0" : ""), payload(row))',
    )],
    steps: ["downstream_failing"],
  },
  {
    name: "dead instead of a retry",
    what: "the second refusal is the last",
    edits: [edit("src/delivery/judge.ts", "row.spent >= options.attemptsMax ||", "row.spent >= 2 ||")],
    steps: ["downstream_failing"],
  },
  {
    name: "refusal taken for delivery",
    what: "every answer of the tier counts as delivered",
    edits: [
      edit("src/delivery/send.ts", "if (status >= 200 && status < 300) return", "if (status >= 200) return"),
    ],
    steps: ["downstream_failing", "downstream_wrong_names"],
  },
  {
    name: "attempts not recorded",
    what: "only the attempt that delivered leaves a row",
    edits: [
      edit(
        settle,
        "where s.kind = 'retry' or (v_left > 0 and s.kind is distinct from 'released')",
        "where coalesce(s.kind, 'delivered') = 'delivered'",
      ),
    ],
    steps: ["downstream_failing"],
  },
  {
    name: "count of what waits not kept",
    what: "what is delivered stays in the count of what waits",
    edits: [
      edit(
        settle,
        "values ('pending', -(v_delivered + v_dead));",
        "values ('pending', -v_dead - v_delivered / 2);",
      ),
    ],
    steps: [],
  },
  {
    name: "outbox row forgotten",
    what: "a lead that shares a commit with a form is not delivered",
    edits: [
      edit(
        "sql/functions/accept.sql",
        "    where not v_has_forms\n      or coalesce",
        "    where not v_has_forms\n      or false and coalesce",
      ),
    ],
    steps: [],
  },
  {
    name: "held form delivered",
    what: "what a bot has filled in is delivered",
    edits: [
      edit(
        "sql/functions/accept.sql",
        "    where not v_has_forms\n      or coalesce",
        "    where true\n      or coalesce",
      ),
    ],
    steps: [],
  },
  {
    name: "payload without extra",
    what: "the customer does not get the fields that the contract does not name",
    edits: [edit("src/delivery/payload.ts", '"extra":${row.extra ?? "{}"},', '"extra":{},')],
    steps: [],
  },
  {
    name: "certificate not renewed",
    what: "files that were replaced are not read again",
    edits: [
      edit(
        "src/http/tls_files.ts",
        "const timer = setInterval(look, options.everyMs);",
        "const timer = setInterval(() => void look, options.everyMs);",
      ),
    ],
    steps: ["listener_certificate"],
  },
];
