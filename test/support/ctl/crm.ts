/** A fixture for the tests of CRM recipes on the command line: an actions process, Pipedrive's test server, and `ctl`. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Fixture, openFixture } from "../actions/fixture.ts";
import { type Pipedrive, startPipedrive } from "../crm/pipedrive.ts";
import { temporaryFolder } from "../folder.ts";
import { type Outcome, runCtl } from "../server.ts";

/** Every secret of the tests contains this word, so that none is overlooked. */
export const word = "s3cr3t";
export const token = `${word}-t0ken-0123456789`;
export const otherToken = `${word}-0ther-0123456789`;

const folder = temporaryFolder("crm");

/** Writes a file, with a text, bytes or a value as JSON, and returns its path. */
export function file(name: string, content: unknown): string {
  const path = join(folder, name);
  const isRaw = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(path, isRaw ? content : JSON.stringify(content));
  return path;
}

/** Returns the value of `--secret` for a file with the token. */
export function tokenFile(): string {
  return `token=${file("token.txt", `${token}\n`)}`;
}

/** Returns an operator's own recipe with these members, and these members of its only step. */
export function own(
  more: Readonly<Record<string, unknown>> = {},
  step: Readonly<Record<string, unknown>> = {},
) {
  return {
    title: "An own CRM",
    settings: {
      token: { secret: true, about: "the token" },
      base_url: { default: "https://api.crm.example", about: "the address" },
      owner: { optional: true, about: "the owner" },
    },
    auth: { kind: "bearer", token: "token" },
    steps: [{
      name: "post",
      method: "POST",
      url: "settings.base_url & '/leads'",
      json: "{ 'id': event_id }",
      ...step,
    }],
    ...more,
  };
}

export interface CrmFixture {
  readonly fixture: Fixture;
  readonly pipedrive: Pipedrive;
  /** Runs `ctl` with the settings of the actions process. */
  run(args: readonly string[], databaseUrl?: string): Promise<Outcome>;
  /** Runs `ctl tenant route`, which must succeed, and returns its JSON. */
  // deno-lint-ignore no-explicit-any
  route(...args: string[]): Promise<any>;
  /** Adds a tenant without routes and returns its slug. */
  freshTenant(): Promise<string>;
  /** Adds a tenant whose leads go to Pipedrive's test server. */
  pipedriveTenant(): Promise<string>;
  /** Returns a tenant's stored routes, with everything in them, and the number of its audit rows. */
  stored(slug: string): Promise<{ routes: Record<string, unknown>[]; audits: number }>;
  /** Returns the action and the detail of a tenant's last audit row. */
  lastAudit(slug: string): Promise<[action: unknown, detail: unknown]>;
  /** Notes what `ctl` printed, for `assertNoSecret`. */
  note(outcome: Pick<Outcome, "stdout" | "stderr">): void;
  /** Checks that no secret was printed, logged or audited. */
  assertNoSecret(): Promise<void>;
}

export async function openCrmFixture(): Promise<CrmFixture> {
  const fixture = await openFixture();
  const { sql } = fixture;
  const pipedrive = await startPipedrive(fixture.authority.issue({ name: "pipedrive.test", use: "server" }));
  pipedrive.tokens.add(token);
  const printed: string[] = [];
  let tenants = 0;
  const crm: CrmFixture = {
    fixture,
    pipedrive,
    run: async (args, databaseUrl = fixture.databaseUrl) => {
      const outcome = await runCtl(args, {
        databaseUrl,
        env: {
          ACTIONS_URL: `https://127.0.0.1:${fixture.actions.port}`,
          ACTIONS_CA_FILE: fixture.authority.file,
          ACTIONS_CLIENT_CERT_FILE: fixture.client.certFile,
          ACTIONS_CLIENT_KEY_FILE: fixture.client.keyFile,
        },
      });
      crm.note(outcome);
      return outcome;
    },
    route: async (...args) => {
      const { code, stdout, stderr } = await crm.run(["tenant", "route", ...args, "--json"]);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    },
    freshTenant: async () => {
      const slug = `crm-${++tenants}`;
      await fixture.addTenant(slug);
      return slug;
    },
    pipedriveTenant: async () => {
      const slug = await crm.freshTenant();
      const set = ["--set", `base_url=${pipedrive.url}`, "--set", "owner_id=12"];
      await crm.route(slug, "--crm", "pipedrive", "--secret", tokenFile(), ...set);
      return slug;
    },
    stored: async (slug) => {
      const routes = await sql`
        select r.* from actions.route as r join tenant as t on t.id = r.tenant_id where t.slug = ${slug} order by r.id`;
      const [audits] = await sql`select count(*)::int as count from audit where subject = ${slug}`;
      return { routes: [...routes], audits: audits?.count };
    },
    lastAudit: async (slug) => {
      const [row] = await sql`
        select action, detail from audit where subject = ${slug} order by id desc limit 1`;
      return [row?.action, row?.detail];
    },
    note: ({ stdout, stderr }) => void printed.push(stdout, stderr),
    assertNoSecret: async () => {
      const { logs, output } = fixture.actions;
      const audit = await sql`select * from audit`;
      for (const text of [...printed, JSON.stringify([audit, logs]), output.stderr]) {
        assert.doesNotMatch(text, new RegExp(word));
      }
    },
  };
  return crm;
}
