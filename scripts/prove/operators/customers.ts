/**
 * Operations on what a customer has: keys, terms, forms, plans, links in digests, and the report.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "../clock.ts";
import { moveClock, recordRevocation } from "../faults.ts";
import type { Key } from "../history.ts";
import { keyDigest, keyText } from "../leads.ts";
import { expectedDelivery, idsOf, isHeld, nonNull, type Row, rowAt, rowsOf } from "../model.ts";
import { seededRandom } from "../random.ts";
import { daysOf, fetchReport } from "../tables.ts";
import { linkSecret } from "../test_env.ts";
import { dayMs, type OperatorRun, runsMin } from "./operator_run.ts";

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
      ...{ required: ["name", "email"], threshold: 70, blocked: ["a", "b"] },
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
        ...{ slug, name: "Roof", customer: "north", amount_cents: cents, billing_interval: "month" },
        ...{ body: nonNull, updated_at: nonNull },
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
  const routes = rowsOf(before, "actions.route").filter(({ kind }) => kind === "email");
  const own = routes.find(({ tenant_id: of }) => of === tenant)?.id;
  const ids = idsOf(before, "submission", (row) => isHeld(row) && row.tenant_id === tenant)
    .filter((id) => !run.isRelated(before, id)).slice(0, runsMin);
  const [clock] = await run.testEnv.sql`select extract(epoch from service_clock())::int as seconds`;
  const open = async (method: string, { expiresS = 600, route = own, secret = linkSecret } = {}) => {
    for (const id of ids) {
      const text = `${id}.${route}.${Number(clock?.seconds) + expiresS}`;
      const signature = createHmac("sha256", secret).update(`/held/${text}`).digest("base64url");
      await run.callers.openHeldLink(method, `${text}.${signature}`);
    }
  };
  for (const method of ["HEAD", "GET", "PUT"]) await open(method);
  for (const wrong of [{ expiresS: -60 }, { route: -1 }, { secret: "x" }]) await open("POST", wrong);
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

/** Waits until the report, with all hours rolled up again, matches the events and attempts. */
export async function compareReport(run: OperatorRun): Promise<void> {
  const { sql, nodes } = run.testEnv;
  // The older an hour, the longer until it is rolled up again: an eighth of its age.
  await moveClock(run.testEnv, 5 * dayMs);
  const [stored] = await sql<{ accepted: number; delivered: number }[]>`
    select count(*)::int as accepted, count(*) filter (
      where exists (select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered'))::int as delivered
    from event as e`;
  let report: Awaited<ReturnType<typeof fetchReport>> = null;
  const isEqual = await waitFor(async () => {
    await sql`select roll_up_hours(1000)`;
    report = await fetchReport(nodes[0]?.opsPort ?? 0, daysOf(run.testEnv));
    return report?.accepted === stored?.accepted && report?.delivered === stored?.delivered;
  }, { deadlineMs: 30_000, everyMs: 200 });
  if (isEqual === null) {
    run.differences.push(`the report has ${JSON.stringify(report)}, expected ${JSON.stringify(stored)}`);
  }
}
