/** A Debian machine with PostgreSQL and the release, and the actions of the installation tests. */

import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { issueCertificate } from "../../../src/ctl/x509.ts";
import { Machine } from "../container/machine.ts";
import { debianTree } from "../container/tree.ts";
import { temporaryFolder } from "../folder.ts";
import { collect } from "../output.ts";
import { until } from "../until.ts";
import type { Counts } from "./load.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** The packages that docs/install.md requires, and ps. */
const packages = ["postgresql", "openssl", "ca-certificates", "procps", "pgbackrest"];
/** The public name in the machine's certificate. */
export const domain = "leads.example.com";
const limits = ["INTAKE_IP_PER_MINUTE", "INTAKE_IP_BURST", "INTAKE_KEY_PER_MINUTE", "INTAKE_KEY_BURST"];

/** The response to a lead. */
export interface Answer {
  readonly status: number;
  readonly event_id?: string;
}

/** The machine; `/mnt` contains the release, a certificate and the tests' programs. */
export class Installation {
  readonly machine: Machine;
  /** The release's version. */
  readonly version: string;

  private constructor(machine: Machine, version: string) {
    this.machine = machine;
    this.version = version;
  }

  /** Builds the release and boots the machine without installing anything. */
  static async open(): Promise<Installation> {
    const folder = temporaryFolder("packages");
    execFileSync(process.execPath, ["scripts/package/main.ts", "--to", folder], {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
    });
    copyFileSync(new URL("load.ts", import.meta.url), join(folder, "load.ts"));
    copyFileSync(realpathSync(join(root, "node_modules/.bin/deno")), join(folder, "deno"));
    const made = issueCertificate({ name: domain, names: [domain], use: "server", days: 30 });
    writeFileSync(join(folder, "cert.pem"), made.cert);
    writeFileSync(join(folder, "key.pem"), made.key);
    const machine = await Machine.boot({ tree: debianTree(packages), folders: { "/mnt": folder } });
    const version = /lead-intake-(\S+)\.tar\.gz/.exec(await machine.shell("ls /mnt"))?.[1] ?? "";
    await machine.shell(
      "tar xzf /mnt/*.tar.gz -C /srv && cp /srv/lead-intake-*/runtime/node /usr/local/bin/",
    );
    return new Installation(machine, version);
  }

  /** Runs the release's install.sh and returns its output. */
  async install(...options: readonly string[]): Promise<string> {
    const script = `/srv/lead-intake-${this.version}/scripts/install.sh`;
    const { code, stdout, stderr } = await this.machine.run(script, options);
    if (code !== 0) throw new Error(`exit code ${code}\n${stdout}${stderr}`);
    return stdout + stderr;
  }

  /** Derives another release from the unpacked one, with shell lines that change it in its folder. */
  async derive(version: string, change = ":"): Promise<string> {
    const folder = `/srv/lead-intake-${version}`;
    await this.machine.shell(`set -e
      cp -a /srv/lead-intake-${this.version} ${folder}; cd ${folder}
      echo ${version} > VERSION; sed -i 's/"version": "[^"]*"/"version": "${version}"/' package.json
      sed -i 's/^  version: "${this.version}",$/  version: "${version}",/' build/programs/*.js
      ${change}
      cut -c 67- SHA256SUMS > /tmp/names; xargs -d '\\n' sha256sum < /tmp/names > SHA256SUMS`);
    return folder;
  }

  /** Posts a lead over HTTPS to the public name. */
  async post(key: string, idempotencyKey: string): Promise<Answer> {
    const script = `
      const request = require("node:https").request({ host: "127.0.0.1", port: 443, servername: "${domain}",
        ca: require("node:fs").readFileSync("/mnt/cert.pem"), method: "POST", path: "/v1/intake", headers: { Host: "${domain}",
          "Content-Type": "application/json", "X-API-Key": "${key}", "Idempotency-Key": "${idempotencyKey}" } }, (answer) => {
        let text = "";
        answer.on("data", (part) => text += part).on("end", () =>
          console.log(JSON.stringify({ ...JSON.parse(text), status: answer.statusCode })));
      });
      request.end(JSON.stringify({ first_name: "Ada", last_name: "Lovelace", phone: "5551234567" }));`;
    return JSON.parse(await this.machine.shell(`node -e '${script}'`));
  }

  /** Returns the document that `lead-ctl … --json` prints. */
  async ctl(command: string) {
    return JSON.parse(await this.machine.shell(`lead-ctl ${command} --json`));
  }

  /** Returns the number of events in the database. */
  async events(): Promise<number> {
    const psql = "cd / && runuser -u postgres -- psql -qAt lead_intake -c 'select count(*) from event'";
    return Number(await this.machine.shell(psql));
  }

  /** Raises the limits for a load; loopback has no limit of connections. */
  async liftLimits(): Promise<void> {
    const lines = limits.map((name) => `${name}=900000000`).join("\\n");
    await this.machine.shell(
      `printf '${lines}\\n' >> /etc/lead-intake/intake.env && systemctl restart 'lead-intake@*'`,
    );
  }

  /** Runs every process on Deno, with the units in docs/install.md. */
  async toDeno(): Promise<void> {
    const page = readFileSync(join(root, "docs/install.md"), "utf8");
    const [service = "", actions = ""] = [...page.matchAll(/^```ini\n([^`]*ExecStart=[^`]*)^```$/gm)]
      .map(([, unit = ""]) => unit);
    for (const [part, unit] of [["intake", service], ["public", service], ["actions", actions]]) {
      const folder = `/etc/systemd/system/lead-${part}@.service.d`;
      await this.machine.run("bash", ["-c", `mkdir -p ${folder} && cat > ${folder}/deno.conf`], unit);
    }
    await this.machine.shell("cp /mnt/deno /usr/local/bin/deno && systemctl daemon-reload");
  }

  /** Sets up pgBackRest with the commands of docs/backup.md, up to the first backup. */
  async setUpBackup(): Promise<void> {
    const page = readFileSync(join(root, "docs/backup.md"), "utf8");
    const [, lines] = /^```sh\n([^`]*\bapt-get install pgbackrest\n[^`]*)^sudo cp /m.exec(page) ?? [];
    if (lines === undefined) throw new Error("docs/backup.md does not say how backups are set up");
    // The machine already has the package, and no mirror.
    await this.machine.shell(`
      sudo() { if [ "$1" = -u ]; then local account=$2; shift 2; (cd / && runuser -u "$account" -- "$@"); else "$@"; fi; }
      apt-get() { :; }
      set -e
      ${lines}`);
  }

  /** Posts leads at a constant rate during `work`. */
  async underLoad(key: string, perSecond: number, work: () => Promise<unknown>): Promise<Counts> {
    const ca = await this.machine.shell("cat /mnt/cert.pem");
    const name = `load-${Date.now()}`;
    const options = { url: `https://${domain}`, address: "127.0.0.1", key, ca, perSecond, name };
    const child = this.machine.start("node", ["/mnt/load.ts", JSON.stringify(options)]);
    const { both, ended } = collect(child);
    await until(() => both().includes("begun"));
    await work();
    await this.machine.shell("pkill -TERM -f '^node /mnt/load.ts'");
    await ended;
    return JSON.parse(both().slice(both().indexOf("{")));
  }
}
