/**
 * Operations on what a customer has: keys, terms, forms, plans, links in digests, and the report.
 *
 * @module
 */

import { createHmac, hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "../clock.ts";
import { moveClock, recordRevocation } from "../faults.ts";
import type { Key } from "../history.ts";
import { keyDigest, keyText, marker } from "../leads.ts";
import {
  type Change,
  expectedDelivery,
  idsOf,
  isHeld,
  nonNull,
  type Row,
  rowAt,
  type Rows,
  rowsOf,
} from "../model.ts";
import { seededRandom } from "../random.ts";
import { awaitReport, daysOf } from "../tables.ts";
import { farFuture } from "../tenants.ts";
import { linkSecret } from "../test_env.ts";
import { dayMs, type OperatorRun, runsMin, stepTimeoutMs } from "./operator_run.ts";

/** The published burst of a key. */
const publishedBurst = 101;

/** Uses keys before they are stored, and right after. */
export async function addKeys(run: OperatorRun): Promise<void> {
  const { sql, notes, plan } = run.testEnv;
  const like = notes.keys.find(({ tenant, label }) => tenant === "north" && label === "kept") as Key;
  const random = seededRandom(plan.seed ^ 0x6e77);
  for (let index = 0; index < runsMin; index += 1) {
    const text = keyText(random, "lead_live_");
    await run.callers.probeUnknown({ text, tenant: like.tenant });
    const label = `new-${index}`;
    const [row] = await sql<{ id: number }[]>`
      insert into api_key (tenant_id, campaign_id, surface, label, digest, last4, limit_per_minute, limit_burst, limit_until)
      select tenant_id, campaign_id, surface, ${label}, decode(${keyDigest(text)}, 'hex'), ${text.slice(-4)},
        limit_per_minute, limit_burst, limit_until
      from api_key where id = ${like.id} returning id`;
    const key = { ...like, id: row?.id as number, text, label };
    notes.keys.push(key);
    await run.callers.postWith([key, key]);
  }
  run.count("key used before and after it is stored", runsMin);
}

/** Adds and retires terms, and posts leads with them after each change. */
export async function changeVocabulary(run: OperatorRun): Promise<void> {
  const terms = Array.from({ length: runsMin }, (_, index) => `Gazebo ${index}`);
  for (const [change, isKnown] of [["add", true], ["retire", false]] as const) {
    for (const term of terms) await run.ctl.run("vocabulary", change, term);
    await run.waitUntilServed(
      "/v1/vocabulary",
      (text) => terms.every((term) => text.includes(`"${term}"`) === isKnown),
    );
    await run.callers.postAreas(terms, isKnown);
    run.count(`vocabulary.${change}`, runsMin);
  }
  const unknown = await run.ctl.run("vocabulary", "unknown", "--tenant", "north", "--limit", "1000");
  const posted = run.callers.exchanges.filter(({ response }) => response?.status === 202)
    .map(({ expected }) => expected.project_area);
  run.differences.push(
    ...terms.map((term) => term.toUpperCase())
      .filter((term) => posted.includes(term) && !unknown.includes(`"${term}"`))
      .map((term) => `ctl vocabulary unknown does not list ${term}`),
  );
}

/** Revokes keys, and disables and enables a tenant, while clients post. */
export async function revoke(run: OperatorRun): Promise<void> {
  const { notes } = run.testEnv;
  const isActive = ({ id }: { readonly id: number }) =>
    !notes.revocations.some(({ keyId, reactivated }) => keyId === id && reactivated === undefined);
  const spare = notes.keys.filter((key) => key.label.startsWith("spare-") && isActive(key));
  for (const key of spare.slice(-runsMin)) {
    const act = () => run.ctl.run("key", "revoke", String(key.id));
    await run.callers.postMeanwhile([key], () => recordRevocation(run.testEnv, [key.id], act));
    run.count("key.revoke", 1);
  }
  const keys = notes.keys.filter((key) => key.tenant === "south" && isActive(key));
  const set = (change: string) => run.ctl.run("tenant", change, "south");
  const until = { meanwhile: () => run.callers.postWith(keys), undo: () => set("enable") };
  const disable = () => recordRevocation(run.testEnv, keys.map(({ id }) => id), () => set("disable"), until);
  for (let time = 0; time < runsMin; time += 1) await run.callers.postMeanwhile(keys, disable);
  for (const operation of ["tenant.disable", "tenant.enable"]) run.count(operation, runsMin);
}

/** Adds, changes, removes and restores forms. */
export async function changeForms(run: OperatorRun): Promise<void> {
  const keys = Array.from({ length: runsMin }, (_, index) => `form-${index}`);
  const steps: readonly [command: string, options: readonly string[], columns: Row][] = [
    ["add", ["--required", "name,email", "--threshold", "70", "--blocked", "a,b"], {
      required: ["name", "email"],
      threshold: 70,
      blocked: ["a", "b"],
    }],
    ["change", ["--blocked", "c"], { blocked: ["c"] }],
    ["remove", [], { removed_at: nonNull }],
    ["add", ["--required", "phone"], {
      required: ["phone"],
      threshold: null,
      blocked: [],
      removed_at: null,
    }],
  ];
  for (const [command, options, columns] of steps) {
    await run.apply(
      `form.${command}`,
      keys,
      (key) => ["form", command, "bare", key, ...options],
      (before, key, after) => {
        const hasKey = (row: Row) => row.form_key === key;
        const { id, tenant_id } = rowsOf(after, "form").find(hasKey) ?? {};
        const added = { id, tenant_id, form_key: key, created_at: nonNull };
        return [[`form ${id}`, { ...(rowsOf(before, "form").some(hasKey) ? {} : added), ...columns }]];
      },
    );
  }
}

/** Adds, changes and removes plans, and checks that each process serves them byte for byte. */
export async function changePlans(run: OperatorRun): Promise<void> {
  const plans = Array.from({ length: runsMin + 1 }, (_, index) => `plan-${index}`).toSorted();
  const text = (slug: string, cents: number) =>
    `{"slug":"${slug}","name":"Roof","customer":"north","amount_cents":${cents},"interval":"month",` +
    `"items":[{"title":"Visit","detail":""}],"trial":1.10}`;
  const file = (slug: string) => join(run.testEnv.folder, `${slug}.json`);
  for (const cents of [1_000, 2_000]) {
    for (const slug of plans) writeFileSync(file(slug), text(slug, cents));
    await run.apply(
      "plan.put",
      plans,
      (slug) => ["plan", "put", file(slug)],
      (_, slug) => [[`plan ${slug}`, {
        slug,
        name: "Roof",
        customer: "north",
        amount_cents: cents,
        billing_interval: "month",
        body: nonNull,
        updated_at: nonNull,
      }]],
    );
    const wanted = `[${plans.map((slug) => text(slug, cents)).join(",")}]`;
    await run.waitUntilServed("/api/plans", (served) => served === wanted);
  }
  const [kept = "", ...others] = plans;
  await run.apply("plan.remove", others, ["plan", "remove"], (_, slug) => [[`plan ${slug}`, null]]);
  await run.waitUntilServed("/api/plans", (served) => served === `[${text(kept, 2_000)}]`);
}

/** Opens links of digests: only a POST to a valid link releases its submission, and only the first. */
export async function openHeldLinks(run: OperatorRun): Promise<void> {
  await run.ctl.run("tenant", "set", "north", "--digest-actions", "on");
  const before = await run.read();
  const { id: tenant } = rowAt(before, "tenant north");
  const recipient = rowsOf(before, "actions.route").find((row) =>
    row.kind === "email" && row.tenant_id === tenant && row.source === "" && row.form === ""
  );
  const own = String(recipient?.address);
  const ids = idsOf(before, "submission", (row) => isHeld(row) && row.tenant_id === tenant)
    .filter((id) => !run.isRelated(before, id)).slice(0, runsMin);
  const [clock] = await run.testEnv.sql`select extract(epoch from service_clock())::int as seconds`;
  const open = async (method: string, { expiresS = 600, address = own, secret = linkSecret } = {}) => {
    for (const id of ids) {
      const digest = hash("sha256", address, "hex").slice(0, 32);
      const text = `${id}.${digest}.${Number(clock?.seconds) + expiresS}`;
      const signature = createHmac("sha256", secret).update(`/held/${text}`).digest("base64url");
      await run.callers.openHeldLink(method, `${text}.${signature}`);
    }
  };
  for (const method of ["HEAD", "GET", "PUT"]) await open(method);
  for (const wrong of [{ expiresS: -60 }, { address: `x${own}` }, { secret: "x" }]) await open("POST", wrong);
  run.compare("opening links", before, await run.read(), new Map());
  for (let time = 0; time < 2; time += 1) await open("POST");
  await run.waitUntilDelivered();
  const after = await run.read();
  const queued = ids.map((id) => [`outbox ${id}`, { event_id: id, made: 0 }] as const);
  const { changes } = expectedDelivery(
    new Map([...before, ...queued]),
    after,
    run.testEnv.plan.hasActions,
  );
  for (const id of ids) {
    changes.set(`submission ${id}`, { released_at: nonNull, label: "ham", labelled_at: nonNull });
  }
  run.compare("pressing the button of links", before, after, changes);
  run.count("submission released by a link", ids.length);
}

/** Adds tenants, each with a campaign, a key and a route, and posts a lead with each key, which must reach the route. */
export async function addCustomers(run: OperatorRun): Promise<void> {
  const { sink } = run.testEnv;
  const slugs = Array.from({ length: runsMin }, (_, index) => `customer-${index}`);
  const idOf = (rows: Rows, slug: string) => rowAt(rows, `tenant ${slug}`).id;
  const of = (rows: Rows, table: string, slug: string) =>
    rowsOf(rows, table).find(({ tenant_id: id }) => id === idOf(rows, slug)) ?? {};
  await run.apply("tenant.add", slugs, ["tenant", "add"], (_, slug) => [
    [`tenant ${slug}`, { id: nonNull, slug, name: slug, time_zone: "UTC", created_at: nonNull }],
  ]);
  await run.apply(
    "tenant.set",
    slugs,
    (slug) => ["tenant", "set", slug, "--name", "A name", "--time-zone", "America/Chicago"],
    (_, slug) => [[`tenant ${slug}`, { name: "A name", time_zone: "America/Chicago" }]],
  );
  await run.apply(
    "campaign.add",
    slugs,
    (slug) => ["campaign", "add", slug, "--tenant", slug],
    (_, slug, after) => {
      const { id } = of(after, "campaign", slug);
      return [[`campaign ${id}`, { id, tenant_id: idOf(after, slug), slug, created_at: nonNull }]];
    },
  );
  await run.apply(
    "tenant.route",
    slugs,
    (slug) => ["tenant", "route", slug, "--crm-url", `${sink.url}/hook/${slug}`],
    (_, slug, after) => {
      const { id } = of(after, "actions.route", slug);
      return [[`tenant ${slug}`, { has_route: true, is_delivering: true }], [`actions.route ${id}`, {
        id,
        tenant_id: idOf(after, slug),
        kind: "crm",
        closeness: 0,
        sandbox: false,
        address: `${sink.url}/hook/${slug}`,
        secret: nonNull,
        changed_at: nonNull,
      }]];
    },
  );
  const before = await run.read();
  const keys: string[] = [];
  for (const slug of slugs) {
    sink.setSecret(slug, String(of(before, "actions.route", slug).secret).replace("whsec_", ""), "first");
    const issued = await run.ctl.run("key", "issue", slug, "--label", "kept", "--campaign", slug);
    keys.push(JSON.parse(issued).key);
  }
  const after = await run.read();
  const issuedKeys = slugs.map((slug, index): Change => {
    const { id } = of(after, "api_key", slug);
    const text = keys[index] ?? "";
    return [`api_key ${id}`, {
      id,
      tenant_id: idOf(after, slug),
      campaign_id: of(after, "campaign", slug).id,
      surface: "intake",
      label: "kept",
      digest: `\\x${keyDigest(text)}`,
      last4: text.slice(-4),
      created_at: nonNull,
    }];
  });
  run.compare("key.issue", before, after, new Map(issuedKeys));
  run.count("key.issue", keys.length);
  run.customerKeys = keys;
  for (const [index, slug] of slugs.entries()) {
    const phone = `212555${7_000 + index}`;
    const lead = { first_name: "Eve", last_name: `${marker}first`, phone, cost: 12.5 };
    const id = await run.callers.postUnrecorded(lead, keys[index] ?? "");
    await run.waitUntilDelivered();
    const tenants = sink.deliveries.filter(({ eventId }) => eventId === id).map(({ tenant }) => tenant);
    // An attempt may be repeated on a busy machine.
    const names = [...new Set(tenants)].join();
    if (names !== slug) run.differences.push(`the lead of ${slug} was delivered to ${names || "nobody"}`);
    run.count("lead of a new tenant", 1);
  }
  await raiseLimits(run, issuedKeys.map(([key]) => key.replace("api_key ", "")), keys[0] ?? "");
}

/** Raises limits of keys and networks and ends the raises, which must leave a key no debt. */
async function raiseLimits(run: OperatorRun, keyIds: readonly string[], key: string): Promise<void> {
  const burst = 5_000;
  const raised = ["--per-minute", "600", "--burst", String(burst), "--until", farFuture];
  const networks = keyIds.map((_, index) => `10.0.${index}.0/24`);
  const limitIp = (change: readonly string[], columns: ((network: string) => Row) | null) =>
    run.apply(
      columns === null ? "ip.clear" : "ip.limit",
      networks,
      (network) => ["ip", "limit", network, ...change],
      (_, network) => [[`ip_limit ${network}`, columns?.(network) ?? null]],
    );
  const limitKeys = (change: readonly string[], columns: Row) =>
    run.apply(
      "key.limit",
      keyIds,
      (id) => ["key", "limit", id, ...change],
      (_, id) => [[`api_key ${id}`, columns]],
    );
  await limitIp(raised, (network) => ({ network, per_minute: 600, burst, until: nonNull }));
  await limitIp(["--clear"], null);
  await limitKeys(raised, { limit_per_minute: 600, limit_burst: burst, limit_until: nonNull });
  // Enough requests for a debt of more than two minutes at the published rate.
  let passed = 0;
  const hasPassed = await waitFor(async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => run.callers.remaining(key)));
    passed += all.filter((remaining) => remaining !== null).length;
    return passed > 1_500;
  }, { deadlineMs: stepTimeoutMs, everyMs: 10 });
  if (hasPassed === null) run.differences.push(`a raised limit let only ${passed} requests pass`);
  await limitKeys(["--clear"], { limit_per_minute: null, limit_burst: null, limit_until: null });
  const isOver = await waitFor(async () => {
    const remaining = await run.callers.remaining(key);
    // A process may apply the raised limit for some more seconds.
    return remaining !== null && remaining < publishedBurst;
  }, { deadlineMs: 45_000, everyMs: 500 });
  if (isOver === null) run.differences.push("a key is refused for long after its raised limit has ended");
}

/** Compares the report, with all hours rolled up again, with the events and attempts. */
export async function compareRolledUpReport(run: OperatorRun): Promise<void> {
  // The older an hour, the longer until it is rolled up again: an eighth of its age.
  await moveClock(run.testEnv, 5 * dayMs);
  const options = { deadlineMs: stepTimeoutMs, rollsUp: true };
  run.differences.push(...await awaitReport(run.testEnv, daysOf(run.testEnv), options));
}
