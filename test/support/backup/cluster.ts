/**
 * Debian's PostgreSQL 15 with pgBackRest, in temporary folders, laid out as Debian lays them out: what a restore works on.
 */

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Account, credentials, serverAccount } from "../../../scripts/postgres_binaries.ts";
import { postWatchdog } from "../../../scripts/watchdog.ts";
import { atEnd } from "../at_end.ts";
import { inherited } from "../environment.ts";
import { temporaryFolder } from "../folder.ts";
import { openSocket } from "../handed_socket.ts";

const binaries = "/usr/lib/postgresql/15/bin";
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** How a program ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running server with a repository beside it. */
export interface BackedUpCluster {
  /** As the superuser, on a database. */
  url(database: string): string;
  readonly dataFolder: string;
  /** Of pgBackRest. */
  readonly configFile: string;
  /** The repository. */
  readonly repository: string;
  /** Its unit's name, for whoever asks systemctl. */
  readonly unit: string;
  /** Starts the server, and returns when it answers or has ended. */
  start(): Ran;
  /** Ends it in order, or as a power cut would. */
  stop(mode: "fast" | "immediate"): Ran;
  /** Runs pgBackRest as the server's account. */
  backrest(...args: readonly string[]): Ran;
  /** Runs scripts/restore.sh on a machine of which this is told. */
  restore(args: readonly string[], machine: Machine): Promise<Restored>;
}

/** What systemd would know of the machine. */
export interface Machine {
  /** The units of the service that run, with the processes that end when they are stopped. */
  readonly units: ReadonlyMap<string, number | null>;
  /** Those that start at boot. */
  readonly enabled: readonly string[];
  /** What the journal has of them. */
  readonly journal: string;
  readonly env: Readonly<Record<string, string>>;
  /** Lines of shell for programs that say or do something else there. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** How a restore ended, and what it asked systemd to do, in its order. */
export interface Restored extends Ran {
  readonly asked: readonly string[];
}

/** Makes one, with a first full backup of it still to come; it ends with the tests of the file. */
export function startBackedUpCluster(): BackedUpCluster {
  const folder = temporaryFolder("backup");
  chmodSync(folder, 0o711);
  const account = serverAccount(join(folder, "none"));
  const own = (name: string) => ownFolder(join(folder, name), account);
  own("15");
  const dataFolder = own("15/main");
  const [socket, repository, spool] = [own("run"), own("repository"), own("spool")];
  const password = randomBytes(12).toString("hex");
  const passwordFile = ownFile(join(folder, "password"), password, account);
  // Held, so that nobody else gets the port, also while the server is away.
  const port = Number(new URL(openSocket("postgres").url).port);
  const configFile = ownFile(join(folder, "pgbackrest.conf"), configuration(), account);
  const runAs = (program: string, args: readonly string[]): Ran => run(program, args, account);
  const archive = `pgbackrest --config=${configFile} --stanza=lead archive-push "%p"`;

  must(runAs(join(binaries, "initdb"), [
    ...["-D", dataFolder, "-U", "postgres", "-E", "UTF8", "--locale=C", "--data-checksums"],
    ...["--auth-local=trust", "--auth-host=scram-sha-256", `--pwfile=${passwordFile}`],
  ]));
  appendFileSync(
    join(dataFolder, "postgresql.conf"),
    [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      `unix_socket_directories = '${socket}'`,
      "archive_mode = on",
      `archive_command = '${archive}'`,
      "archive_timeout = 60",
      "timezone = 'UTC'",
      "",
    ].join("\n"),
  );
  const control = (...args: string[]) =>
    runAs(join(binaries, "pg_ctl"), ["-D", dataFolder, "-l", join(spool, "server.log"), ...args]);
  const cluster: BackedUpCluster = {
    ...{ dataFolder, configFile, repository, unit: "postgresql@15-main.service" },
    url: (database) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`,
    start: () => control("start", "-w", "-t", "300"),
    stop: (mode) => control("stop", "-m", mode, "-w"),
    backrest: (...args) => runAs("pgbackrest", [`--config=${configFile}`, "--stanza=lead", ...args]),
    async restore(args, machine) {
      const programs = temporaryFolder("programs");
      const asked = join(programs, "asked");
      writeFileSync(asked, "");
      writeFileSync(join(programs, "journal"), machine.journal);
      writeFileSync(
        join(programs, "active"),
        [...machine.units.keys()].map((unit) => `${unit} loaded\n`).join(""),
      );
      writeFileSync(join(programs, "enabled"), machine.enabled.map((unit) => `${unit} enabled\n`).join(""));
      for (const [unit, pid] of machine.units) {
        if (pid !== null) writeFileSync(join(programs, unit), String(pid));
      }
      program(join(programs, "journalctl"), `cat "${programs}/journal"`);
      const as = account === undefined
        ? ""
        : `setpriv --reuid ${account.uid} --regid ${account.gid} --clear-groups `;
      const server = `cd / && ${as}${binaries}/pg_ctl -D "${dataFolder}"`;
      program(
        join(programs, "systemctl"),
        systemctl({ programs, asked, server, log: join(spool, "server.log") }),
      );
      for (const [name, script] of Object.entries(machine.programs ?? {})) {
        program(join(programs, name), script);
      }
      // Not waited for in place: what it stops are children of ours, and have to be buried.
      const ran = await runAside("bash", [
        join(root, "scripts/restore.sh"),
        ...["--config", configFile, ...args],
      ], {
        PATH: [programs, join(root, "node_modules/.bin"), inherited.PATH].join(delimiter),
        ...machine.env,
      });
      return { ...ran, asked: readFileSync(asked, "utf8").trimEnd().split("\n") };
    },
  };
  // A server of its own outlives a test that is killed.
  const watchdog = postWatchdog('"$1/pg_ctl" -D "$2" -m immediate stop; rm -rf -- "$3"', {
    args: [binaries, dataFolder, folder],
    ...credentials(account),
  });
  must(cluster.start());
  atEnd(() => {
    cluster.stop("immediate");
    watchdog.dismiss();
  });
  must(cluster.backrest("stanza-create"));
  return cluster;

  /** The operator's own, with the folders of the test in place of Debian's. */
  function configuration(): string {
    const given = readFileSync(join(root, "scripts/backup/pgbackrest.conf"), "utf8");
    const set = (text: string, name: string, value: string) => {
      if (!new RegExp(`^${name}=`, "m").test(text)) throw new Error(`The configuration sets no ${name}`);
      return text.replace(new RegExp(`^${name}=.*`, "m"), `${name}=${value}`);
    };
    const ours = [
      ["repo1-path", repository],
      ["repo1-cipher-pass", randomBytes(24).toString("base64")],
      ["lock-path", join(spool, "lock")],
      ["pg1-path", dataFolder],
    ] as const;
    const text = ours.reduce((text, [name, value]) => set(text, name, value), given);
    return `${text}pg1-port=${port}\npg1-socket-path=${socket}\npg1-user=postgres\n`;
  }
}

/** What the restore needs of systemctl: units are processes, and PostgreSQL's is the cluster's server. */
function systemctl(
  { programs, asked, server, log }: {
    readonly programs: string;
    readonly asked: string;
    readonly server: string;
    readonly log: string;
  },
): string {
  return `
    case $1 in
      list-units) cat "${programs}/active"; exit ;;
      list-unit-files) cat "${programs}/enabled"; exit ;;
      is-active) ${server} status >/dev/null; exit ;;
    esac
    echo "$*" >>"${asked}"
    verb=$1; shift
    for unit in "$@"; do
      case $verb:$unit in
        start:postgresql@*) (${server} -l "${log}" -W start) >/dev/null 2>&1 </dev/null ;;
        stop:*) if [ -e "${programs}/$unit" ]; then
          pid=$(cat "${programs}/$unit"); kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
        fi ;;
      esac
    done`;
}

function program(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** @throws {Error} with what it said, when it has failed */
export function must({ code, stdout, stderr }: Ran): string {
  if (code !== 0) throw new Error(`It exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

function run(
  program: string,
  args: readonly string[],
  account?: Account,
  env: Readonly<Record<string, string>> = {},
): Ran {
  const { status: code, stdout, stderr, error } = spawnSync(program, [...args], {
    // What a started server inherits must not keep us waiting: it writes to its log.
    ...{ cwd: "/", encoding: "utf8", env: { ...inherited, ...env }, ...credentials(account) },
    stdio: program.endsWith("pg_ctl") ? "ignore" : "pipe",
  });
  if (error !== undefined) throw error;
  return { code, stdout: stdout ?? "", stderr: stderr ?? "" };
}

async function runAside(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: "/",
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => output.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => output.stderr += text);
  const [code] = await once(child, "close");
  return { code, ...output };
}

function ownFolder(path: string, account: Account | undefined): string {
  mkdirSync(path, { mode: 0o700 });
  if (account !== undefined) chownSync(path, account.uid, account.gid);
  return path;
}

function ownFile(path: string, text: string, account: Account | undefined): string {
  writeFileSync(path, text, { mode: 0o600 });
  if (account !== undefined) chownSync(path, account.uid, account.gid);
  return path;
}

/** The bytes of a folder with all that is in it; what goes while it is looked at, as a running server's files do, counts or not. */
export function bytesOf(folder: string): number {
  return Number(run("du", ["-sb", folder]).stdout.split("\t")[0]);
}
