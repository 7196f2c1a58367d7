/**
 * A real Prometheus that scrapes what a test tells it to, with our rules.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { openSocket } from "../handed_socket.ts";
import { until } from "../until.ts";

const rulesFile = fileURLToPath(new URL("../../../scripts/monitoring/rules.yml", import.meta.url));

/** One line of an answer. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** An alert as Prometheus tells it. */
export interface ToldAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/**
 * The rules with a second for each minute of their windows, and half of one for each five minutes that they have to be
 * so: what takes an hour takes a minute. What is counted stays as it is; ages of the process's own, which no test can
 * wait for, are a sixtieth.
 */
export function hurried(rules: string): string {
  const second = { m: "s", h: "m", d: "h" } as const;
  return rules
    .replaceAll(
      /(?<=\[)(\d+)([mhd])(?=[:\]])/g,
      (_, count: string, unit: keyof typeof second) => count + second[unit],
    )
    .replaceAll(/^( +for: )(\d+)m$/gm, (_, head: string, count: string) => `${head}${Number(count) * 100}ms`)
    .replaceAll(/^( +for: )(\d+)h$/gm, "$1$2s")
    .replaceAll(/(?<=lead_tier_away_seconds > )(\d+)/g, (seconds) => String(Number(seconds) / 60));
}

/** A running server; it ends with the tests of the file. */
export class Prometheus {
  readonly #url: string;
  readonly #targets: string;
  readonly #jobs = new Map<string, string>();

  private constructor(url: string, targets: string) {
    this.#url = url;
    this.#targets = targets;
  }

  /** Starts one, and returns when it answers. */
  static async open(): Promise<Prometheus> {
    const folder = temporaryFolder("prometheus");
    const file = (name: string) => join(folder, name);
    writeFileSync(file("rules.yml"), hurried(readFileSync(rulesFile, "utf8")));
    const config = {
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: [file("rules.yml")],
      scrape_configs: [{
        job_name: "by-file",
        file_sd_configs: [{ files: [file("targets.json")], refresh_interval: "1s" }],
      }],
    };
    writeFileSync(file("prometheus.yml"), JSON.stringify(config));
    writeFileSync(file("targets.json"), "[]");
    // Held, so that nobody else gets the port before it has it.
    const { url } = openSocket("prometheus");
    const child = spawn("prometheus", [
      ...[`--config.file=${file("prometheus.yml")}`, `--storage.tsdb.path=${file("data")}`],
      ...[`--web.listen-address=${new URL(url).host}`, "--log.level=warn"],
    ], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => said += text);
    const ended = new Promise((settle) => child.once("close", settle).once("error", settle));
    atEnd(async () => {
      child.kill("SIGKILL");
      await ended;
    });
    await until(async () => {
      if (child.exitCode !== null) throw new Error(said);
      return (await fetch(`${url}/-/ready`)).ok;
    }, { what: "Prometheus is ready" });
    return new Prometheus(url, file("targets.json"));
  }

  /** Scrapes a job's one process at this base address from now on. Its `instance` is the job's name, wherever it is. */
  watch(job: string, url: string): void {
    this.#jobs.set(job, new URL(url).host);
    const targets = [...this.#jobs].map(([job, host]) => ({
      targets: [host],
      labels: { job, instance: job },
    }));
    writeFileSync(`${this.#targets}.new`, JSON.stringify(targets));
    renameSync(`${this.#targets}.new`, this.#targets);
  }

  async #get(path: string, parameters: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    // deno-lint-ignore no-explicit-any
    const answer: any = await response.json();
    if (answer.status !== "success") throw new Error(`${answer.error}: ${parameters.query ?? path}`);
    return answer.data;
  }

  /**
   * What a query finds now.
   *
   * @throws {Error} when Prometheus cannot parse it
   */
  async query(query: string): Promise<Sample[]> {
    const { result } = await this.#get("query", { query });
    // deno-lint-ignore no-explicit-any
    return result.map(({ metric, value }: any) => ({ metric, value: Number(value[1]) }));
  }

  /** The alerts whose expression holds now, for long enough or not. */
  async active(): Promise<ToldAlert[]> {
    return (await this.#get("alerts") as { alerts: ToldAlert[] }).alerts;
  }

  /** The alerts that fire now. */
  async firing(): Promise<ToldAlert[]> {
    return (await this.active()).filter(({ state }) => state === "firing");
  }

  /** Waits until an alert fires, doing `work` again and again meanwhile, and returns what it says. */
  async fires(alert: string, work: () => unknown = () => {}): Promise<ToldAlert> {
    return await until(async () => {
      await work();
      return (await this.firing()).find(({ labels }) => labels.alertname === alert);
    }, { what: `${alert} fires`, deadlineMs: 150_000, intervalMs: 100 });
  }

  /** Waits until an alert fires no more, doing `work` again and again meanwhile. */
  async ends(alert: string, work: () => unknown = () => {}): Promise<void> {
    await until(async () => {
      await work();
      return !(await this.firing()).some(({ labels }) => labels.alertname === alert);
    }, { what: `${alert} ends`, deadlineMs: 150_000, intervalMs: 100 });
  }
}
