/**
 * Runs the documents' command blocks as a reader would: in a shell in a copy of the repository, beside a separate
 * PostgreSQL.
 *
 * Only the ports, the password and the ids of events differ from a reader's machine.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDevCertificates } from "../../../scripts/dev_certificates.ts";
import { type EmbeddedPostgres, startPostgres } from "../../../scripts/embedded_postgres.ts";
import { listeners } from "../../../scripts/listeners.ts";
import { signalProcess } from "../../../scripts/processes.ts";
import { atEnd } from "../at_end.ts";
import { post } from "../client.ts";
import { collect } from "../output.ts";
import { withSql } from "../database.ts";
import { copyCheckout } from "../scripts/checkout.ts";
import { until } from "../until.ts";

const bin = fileURLToPath(new URL("bin", import.meta.url));
const password = "of-a-reader";
const anyPort = Object.fromEntries(listeners({}).map(({ variable }) => [variable, "127.0.0.1:0"]));
/** Commands that run until stopped; each prints when it is ready. */
const goesOn = /(npm start|npm run (service|actions)|src\/main\.ts|src\/actions\/main\.ts)$/;
const begun =
  /"event":"started"[^]*Press Ctrl-C to stop everything|^(?![^]*Starting PostgreSQL)[^]*"event":"started"/;

/** A running command block. */
interface Pasted {
  readonly output: () => string;
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Runs the blocks of one page after the other; a page's exports apply to the following ones. */
export class Reader {
  readonly #checkout: string;
  readonly #server: EmbeddedPostgres;
  readonly #exports: string[] = [];
  /** Everything printed so far, including the keys. */
  #seen = "";

  private constructor(checkout: string, server: EmbeddedPostgres) {
    this.#checkout = checkout;
    this.#server = server;
  }

  /** Creates a fresh copy; the programs started there end with the tests. */
  static async open(): Promise<Reader> {
    const checkout = copyCheckout({ whole: true });
    const server = await startPostgres();
    atEnd(() => server.stop());
    return new Reader(checkout, server);
  }

  /** Runs a block and returns its output. The block must succeed, or keep running and report that it is ready. */
  async paste(text: string): Promise<string> {
    const script = await this.#fill(text);
    const pasted = this.#start([...this.#exports, script].join("\n"));
    this.#exports.push(...script.split("\n").filter((line) => line.startsWith("export ")));
    let over: number | NodeJS.Signals | undefined;
    pasted.ended.then((how) => over = how);
    if (goesOn.test(text.trimEnd())) {
      await until(() => over !== undefined || begun.test(pasted.output()), { what: text });
      assert.equal(over, undefined, pasted.output());
    } else assert.equal(await pasted.ended, 0, pasted.output());
    this.#seen += pasted.output();
    return pasted.output();
  }

  /** Runs statements in the database as the superuser. */
  async query(statements: string): Promise<void> {
    const url = this.#server.databaseUrl("lead_intake");
    await withSql(url, (sql) => sql.unsafe(this.#known(statements)));
  }

  #start(script: string): Pasted {
    const folder = this.#checkout;
    const child = spawn("sh", ["-e", "-c", script], {
      cwd: folder,
      detached: true,
      env: {
        ...anyPort,
        ACTIONS_LISTEN: "127.0.0.1:0",
        LOG: "json",
        ...this.#certificates(),
        PATH: [bin, join(folder, "node_modules/.bin"), process.env.PATH].join(delimiter),
        HOME: folder,
        NO_COLOR: "1",
        REAL_NPM: execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim(),
        ...this.#psqlSettings(),
        LEADS_API_KEY: this.#key("intake"),
        // `npm start` prints a forms key for each of its two tenants.
        FORMS_API_KEY: script.includes("/forms/sandbox/")
          ? this.#latest(/\bform_test_\w+/g)
          : this.#key("forms"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { both, ended } = collect(child);
    let isOver = false;
    ended.then(() => isOver = true);
    atEnd(() => {
      if (!isOver && child.pid !== undefined) signalProcess(-child.pid, "SIGTERM");
      return ended;
    });
    return { output: both, ended };
  }

  /** The environment in which `psql` connects as the superuser. */
  #psqlSettings(): Record<string, string> {
    const { hostname, port, username, password } = new URL(this.#server.url);
    return { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
  }

  /** Beside the copy, whose path contains a space. */
  get #certificateFolder(): string {
    return join(this.#checkout, "../certificates");
  }

  /** The certificates that the actions process needs, in place of /etc. */
  #certificates(): Record<string, string> {
    const files = ensureDevCertificates(this.#certificateFolder);
    return {
      ACTIONS_SERVER_CERT_FILE: files.serverCertFile,
      ACTIONS_SERVER_KEY_FILE: files.serverKeyFile,
      ACTIONS_CLIENT_CA_FILE: files.caFile,
    };
  }

  /** Replaces the page's placeholders with this machine's values. */
  async #fill(text: string): Promise<string> {
    let filled = this.#known(text);
    for (const [name, find] of Object.entries(this.#ids)) {
      if (filled.includes(name)) filled = filled.replaceAll(name, await find(text));
    }
    return filled;
  }

  #known(text: string): string {
    return text.replaceAll("…", password)
      .replaceAll("@127.0.0.1/", `@127.0.0.1:${this.#server.port}/`)
      .replaceAll("/etc/lead-intake", this.#certificateFolder)
      .replaceAll("http://127.0.0.1:8080", () => this.#url("intake"))
      .replaceAll("http://127.0.0.1:8081", () => this.#url("forms"));
  }

  /** Creates the records whose ids a page mentions. */
  readonly #ids: Readonly<Record<string, (text: string) => Promise<string>>> = {
    EVENT_ID: async (text) => {
      const lead = {
        first_name: "Jane",
        last_name: "Doe",
        phone: "5551234567",
        email: "jane@example.com",
        // Otherwise the leads of two blocks would be duplicates.
        external_id: randomUUID(),
      };
      const id = await this.#post("intake", "/v1/intake", lead);
      if (text.includes("ctl -- dead")) await this.#kill(id);
      return id;
    },
    SUBMISSION_ID: () => {
      const spam = { name: "Jane Doe", email: "jane@example.com", website: "https://seo.example" };
      return this.#post("forms", "/v1/forms/acme/contact", spam);
    },
    COLLISION_ID: async () => {
      const headers = { "Idempotency-Key": "acme:lead:collision" };
      for (const phone of ["5551234567", "5551234568"]) {
        const lead = { first_name: "Jane", last_name: "Doe", phone };
        await post(`${this.#url("intake")}/v1/intake`, { key: this.#key("intake"), body: lead, headers });
      }
      const list = this.#start([...this.#exports, "node scripts/ctl.ts collision list --json"].join("\n"));
      assert.equal(await list.ended, 0, list.output());
      return String(JSON.parse(list.output())[0].id);
    },
    // A spare key, so that revoking it does not affect the other pages.
    KEY_ID: async () => {
      const issue = this.#start(
        [...this.#exports, "node scripts/ctl.ts key issue acme --label spare --json"].join("\n"),
      );
      assert.equal(await issue.ended, 0, issue.output());
      return String(JSON.parse(issue.output()).id);
    },
  };

  async #post(surface: "intake" | "forms", path: string, body: object): Promise<string> {
    const { status, json, text } = await post(this.#url(surface) + path, { key: this.#key(surface), body });
    assert.equal(status, 202, text);
    return json.event_id ?? json.submission_id;
  }

  /** Makes an event dead, as delivery does after the last attempt. */
  async #kill(eventId: string): Promise<void> {
    await this.query(`
      with dead as (delete from outbox where event_id = '${eventId}' returning event_id, tenant_id)
      insert into dead_letter (event_id, tenant_id, died_at, reason)
      select event_id, tenant_id, now(), 'crm_500' from dead`);
  }

  #key(surface: "intake" | "forms"): string {
    return this.#latest(surface === "intake" ? /\blead_(live|test)_\w+/g : /\bform_(live|test)_\w+/g);
  }

  /** Returns the address of the most recently started service. */
  #url(surface: string): string {
    const line = new RegExp(`(?<="event":"listening","surface":"${surface}","url":")[^"]+`, "g");
    return this.#latest(line);
  }

  #latest(pattern: RegExp): string {
    return this.#seen.match(pattern)?.at(-1) ?? "";
  }
}
