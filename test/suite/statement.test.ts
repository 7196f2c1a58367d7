/** The figures of a random month, which must be equal wherever an operator reads them. */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { monthBounds, TimeZone } from "../../src/http/time_zone.ts";
import { get } from "../support/client.ts";
import { ConsoleStage } from "../support/console/stage.ts";
import { ctl, runCtl } from "../support/server.ts";
import { freshKey, lead } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const seed = Number(process.env.STATEMENT_SEED ?? randomInt(2 ** 31));
let state = seed;
/** Returns a pseudorandom integer from 0 to `max` - 1. */
function random(max: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor(state / 2 ** 32 * max);
}

const zones = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu"];
// Half of the zones change their clocks in March, April, October or November.
const month = `2025-${["03", "04", "10", "11", "01", "12"][random(6)]}`;
const zoneName = zones[random(zones.length)] as string;
const { since, until: end } = monthBounds(month, new TimeZone(zoneName)) as { since: string; until: string };
const [sinceMs, endMs] = [Date.parse(since), Date.parse(end)];
const hourMs = 3_600_000;

const stage = await ConsoleStage.open();
const { testEnv } = stage;
const on = { databaseUrl: testEnv.database.url };

const names = ["accepted", "duplicates", "refused", "returned", "gross", "credit", "net"] as const;
type Figures = Record<typeof names[number], number>;
const figures = (): Figures => ({
  accepted: 0,
  duplicates: 0,
  refused: 0,
  returned: 0,
  gross: 0,
  credit: 0,
  net: 0,
});
const sum = (all: readonly Figures[]) =>
  all.reduce((total, one) => {
    for (const name of names) total[name] += one[name];
    return total;
  }, figures());

const inJson = (row: Record<string, number>): Figures => ({
  ...Object.fromEntries(names.map((name) => [name, row[name] ?? 0])) as Figures,
  gross: row.spend_cents ?? 0,
  credit: row.credit_cents ?? 0,
  net: row.net_cents ?? 0,
});

/** Returns the cells of a page's table, by the first cell. */
function tableOf(html: string): Map<string, string[]> {
  const [table = ""] = /<table.*?<\/table>/s.exec(html) ?? [];
  return new Map(
    [...table.matchAll(/<tr role="row">(<td.*?)<\/tr>/gs)].map(([, row = ""]) => {
      const cells = [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) =>
        cell.replaceAll(/<details>.*<\/details>/gs, "").replaceAll(/<[^>]*>/g, " ").trim()
      );
      return [cells[0]?.split(" ").at(-1) ?? "", cells] as const;
    }),
  );
}

const inCells = (cells: readonly string[]): Figures =>
  Object.fromEntries(names.map((name, index) => {
    const text = cells[index]?.replaceAll(/[,$]/g, "") ?? "";
    return [name, index < 4 ? Number(text) : Math.round(Number(text) * 100)];
  })) as Figures;

/** Returns the figures in a statement's CSV, by source. */
function inCsv(csv: string): Map<string, Pick<Figures, "accepted" | "returned" | "gross" | "credit">> {
  const [header = "", ...lines] = csv.trimEnd().split("\r\n");
  const columns = header.split(",");
  const bySource = Map.groupBy(
    lines.map((line) => line.split(",")),
    (cells) => cells[columns.indexOf("source")],
  );
  return new Map([...bySource].map(([source = "", rows]) => {
    const cents = (list: typeof rows) =>
      Math.round(list.reduce((total, cells) => total + 100 * Number(cells[columns.indexOf("cost")]), 0));
    const returned = rows.filter((cells) => cells[columns.indexOf("returned")] !== "");
    return [source, {
      accepted: rows.length,
      returned: returned.length,
      gross: cents(rows),
      credit: cents(returned),
    }];
  }));
}

test(`report, statement, CSV, console, metrics and campaigns agree about a random month (STATEMENT_SEED=${seed})`, async () => {
  const tenant = await testEnv.tenant();
  await testEnv.sql`update tenant set time_zone = ${zoneName} where id = ${tenant.id}`;
  const campaignId = await testEnv.campaign(tenant);
  const keys = [
    await testEnv.issue({ tenant, label: "web", campaignId }),
    await testEnv.issue({ tenant, label: "ads", campaignId }),
    await testEnv.issue({ tenant, label: "ads" }),
  ];
  const neighbour = await testEnv.issue({ label: "web" });

  // What was posted, in the month and in all, by source; and the leads by id.
  const expected = { month: new Map<string, Figures>(), all: new Map<string, Figures>() };
  const campaign = figures();
  const metrics = figures();
  const leads: { id: string; cents: number; label: string; hasCampaign: boolean; isInMonth: boolean }[] = [];
  const count = (label: string, isInMonth: boolean, part: Partial<Figures>) => {
    for (const by of isInMonth ? [expected.month, expected.all] : [expected.all]) {
      by.set(label, sum([by.get(label) ?? figures(), { ...figures(), ...part }]));
    }
  };
  const slots = [sinceMs - 1, sinceMs, sinceMs + 1 + random(endMs - sinceMs - 2), endMs - 1, endMs];
  for (const atMs of slots) {
    await testEnv.setClock(new Date(atMs).toISOString());
    const server = await testEnv.start();
    const isInMonth = atMs >= sinceMs && atMs < endMs;
    // The counts of duplicates and refusals are those of the hour.
    const hour = Math.floor(atMs / hourMs) * hourMs;
    const isHourInMonth = hour >= sinceMs && hour < endMs;
    for (const key of [...keys, neighbour]) {
      const post = async (body: unknown, idempotencyKey = freshKey()) =>
        await testEnv.intake({ key: key.text, body, headers: { "Idempotency-Key": idempotencyKey } }, server);
      for (let left = 1 + random(4); left > 0; left -= 1) {
        const cents = random(5) === 0 ? 0 : 1 + random(9_999);
        const body = lead({ external_id: `${atMs}-${left}`, ...(cents > 0 && { cost: cents / 100 }) });
        const idempotencyKey = freshKey();
        const { json } = await post(body, idempotencyKey);
        const repeats = random(3);
        for (let repeat = 0; repeat < repeats; repeat += 1) await post(body, idempotencyKey);
        if (key === neighbour) continue;
        count(key.label, isInMonth, { accepted: 1, gross: cents, net: cents });
        count(key.label, isHourInMonth, { duplicates: repeats });
        const hasCampaign = key !== keys[2];
        if (hasCampaign) campaign.gross += cents;
        leads.push({ id: json.event_id, cents, label: key.label, hasCampaign, isInMonth });
      }
      const refusals = 1 + random(3);
      for (let left = refusals; left > 0; left -= 1) await post({ first_name: "Ada" });
      if (key !== neighbour) count(key.label, isHourInMonth, { refused: refusals });
    }
    const { text } = await get(`${server.urls.ops}/metrics`, { localAddress: "127.0.0.1" });
    const metric = (pattern: RegExp) =>
      [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
    metrics.accepted += metric(/^lead_accepted_total\{kind="lead"\} (\d+)$/gm);
    metrics.duplicates += metric(/^lead_duplicates_total\{kind="lead"\} (\d+)$/gm);
    metrics.refused += metric(/^lead_refused_total\{kind="lead",reason="validation_failed"\} (\d+)$/gm);
    // Stopping writes the counts of duplicates and refusals.
    assert.equal(await server.stop(), 0);
  }
  await testEnv.setClock(new Date(endMs + 3 * 24 * hourMs).toISOString());

  const credit = (one: typeof leads[number], sign: number) => {
    const part = { returned: sign, credit: sign * one.cents, net: -sign * one.cents };
    count(one.label, one.isInMonth, part);
    if (one.hasCampaign) campaign.credit += part.credit;
  };
  for (const [index, one] of leads.filter(() => random(2) === 0).entries()) {
    const page = `/leads/${one.id}`;
    const press = async (fields: readonly (readonly [string, string])[]) => {
      const token = await stage.token(page, "/leads/return");
      const { status } = await stage.post("/leads/return", [["only", one.id], ["token", token], ...fields]);
      assert.equal(status, 303);
    };
    await press([["reason", "duplicate"], ["note", "sent twice"]]);
    credit(one, 1);
    if (random(3) > 0) continue;
    await press([["undo", "yes"]]);
    credit(one, -1);
    if (index % 2 === 0) continue;
    await ctl(["lead", "return", one.id, "--reason", "other"], on);
    credit(one, 1);
  }
  await ctl(["erase", "--event", leads[0]?.id as string], on);

  const total = sum([...expected.month.values()]);
  for (const isRolled of [false, true]) {
    if (isRolled) await testEnv.sql`select roll_up_hours(1000)`;
    // ctl statement, and its CSV.
    const scope = ["statement", "--tenant", tenant.slug, "--month", month];
    const statement = await ctl(scope, on);
    const bySource = (rows: Record<string, never>[]) => new Map(rows.map((row) => [row.source, inJson(row)]));
    assert.deepEqual(bySource(statement.sources), expected.month);
    assert.deepEqual(inJson(statement.total), total);
    assert.deepEqual([statement.since, statement.until], [since, end]);
    const { text: csv } = await stage.get(`/v1/statement?tenant=${tenant.slug}&month=${month}`);
    assert.deepEqual(
      inCsv(csv),
      new Map([...expected.month].map(([source, { accepted, returned, gross, credit }]) => [source, {
        accepted,
        returned,
        gross,
        credit,
      }])),
    );
    if (!isRolled) assert.equal((await runCtl([...scope, "--csv"], on)).stdout, csv);

    // The console's statement and its report.
    const printed = tableOf(
      (await stage.get(`/statement?tenant=${tenant.slug}&month=${month}`)).text,
    );
    const report = tableOf((await stage.get(`/report?tenant=${tenant.slug}&range=${month}`)).text);
    for (const [source, wanted] of [...expected.month, ["", total] as const]) {
      const cells = (source === "" ? printed.get("Total") : printed.get(source)) ?? [];
      assert.deepEqual(inCells(cells.slice(1)), wanted, `statement of ${source || "all"}`);
      const [, accepted = "", , , ...rest] = report.get(source || "All") ?? [];
      assert.deepEqual(inCells([accepted, ...rest]), wanted, `report of ${source || "all"}`);
    }

    // The report over all days, of which the month is a part.
    const days = [sinceMs - 48 * hourMs, endMs + 48 * hourMs].map((ms) => new Date(ms).toISOString());
    type Row = Record<string, number> & { readonly source: string };
    const reported = async (query = ""): Promise<Row[]> => {
      const { json } = await stage.get(`/v1/report?since=${days[0]}&until=${days[1]}${query}`);
      return json.rows.map((row: { refused: { field: string; count: number }[] }) => {
        const refused = row.refused.filter(({ field }) => field === "");
        return { ...row, refused: refused.reduce((posts, one) => posts + one.count, 0) };
      });
    };
    const all = Map.groupBy(await reported(`&tenant=${tenant.slug}`), ({ source }) => source);
    const summed = new Map([...all].map(([source, rows]) => [source, sum(rows.map(inJson))]));
    assert.deepEqual(summed, expected.all);
    const everybody = sum((await reported()).map(inJson));
    assert.deepEqual({ ...everybody, returned: 0, gross: 0, credit: 0, net: 0 }, metrics);
  }

  // Campaigns, and the metrics about them.
  const [{ spend_cents, credit_cents, net_cents }] = await ctl(["campaign", "list"], on);
  assert.deepEqual([spend_cents, credit_cents, net_cents], [
    campaign.gross,
    campaign.credit,
    campaign.gross - campaign.credit,
  ]);
  await until(async () => {
    const { text } = await stage.get("/metrics");
    return text.includes(`\nlead_campaign_spend_cents ${campaign.gross}\n`) &&
      text.includes(`\nlead_campaign_credit_cents ${campaign.credit}\n`);
  }, { what: "the metrics have the campaigns' spend and credit" });
});
