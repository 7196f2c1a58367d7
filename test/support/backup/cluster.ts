/** PostgreSQL 15 with pgBackRest in temporary folders, laid out as Debian does, for tests of the restore. */

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Account, credentials, serverAccount } from "../../../scripts/postgres_binaries.ts";
import { startWatchdog } from "../../../scripts/watchdog.ts";
import { atEnd } from "../at_end.ts";
import { inherited } from "../environment.ts";
import { temporaryFolder } from "../folder.ts";
import { openSocket } from "../handed_socket.ts";
import { collect } from "../output.ts";
import type { Ran } from "../tool.ts";

const binaries = "/usr/lib/postgresql/15/bin";
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A running server with a backup repository. */
export interface BackedUpCluster {
  /** Returns a database's address as the superuser. */
  url(database: string): string;
  readonly dataFolder: string;
  /** The path of pgBackRest's configuration. */
  readonly configFile: string;
  /** The path of the repository. */
  readonly repository: string;
  /** The name of the server's systemd unit. */
  readonly unit: string;
  /** Starts the server and returns once it accepts connections or has exited. */
  start(): Ran;
  /** Stops the server cleanly (`fast`) or like a power cut (`immediate`). */
  stop(mode: "fast" | "immediate"): Ran;
  /** Runs pgBackRest as the server's account. */
  backrest(...args: readonly string[]): Ran;
  /** Runs scripts/restore.sh on a simulated machine. */
  restore(args: readonly string[], machine: Machine): Promise<Restored>;
}

/** The state that the simulated systemd reports. */
export interface Machine {
  /** The active units, each with the process to end when it is stopped. */
  readonly units: ReadonlyMap<string, number | null>;
  /** The enabled units. */
  readonly enabled: readonly string[];
  /** The units' journal. */
  readonly journal: string;
  readonly env: Readonly<Record<string, string>>;
  /** Replaces programs on the machine with shell scripts. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** The outcome of a restore and the systemctl commands it issued, in order. */
export interface Restored extends Ran {
  readonly asked: readonly string[];
}

/** Creates a cluster without a backup; it is removed after the tests of the file. */
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
  // Reserves the port while the server is stopped.
  const port = Number(new URL(openSocket("postgres").url).port);
  const configFile = ownFile(join(folder, "pgbackrest.conf"), configuration(), account);
  const runAs = (program: string, args: readonly string[]): Ran => run(program, args, account);
  const archive = `pgbackrest --config=${configFile} --stanza=lead archive-push "%p"`;

  must(runAs(join(binaries, "initdb"), [
    "-D",
    dataFolder,
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--locale=C",
    "--data-checksums",
    "--auth-local=trust",
    "--auth-host=scram-sha-256",
    `--pwfile=${passwordFile}`,
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
    dataFolder,
    configFile,
    repository,
    unit: "postgresql@15-main.service",
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
      // Run asynchronously: the processes that it stops are children of this one and must be reaped.
      const ran = await runAside("bash", [
        join(root, "scripts/restore.sh"),
        "--config",
        configFile,
        ...args,
      ], {
        PATH: [programs, join(root, "node_modules/.bin"), inherited.PATH].join(delimiter),
        ...machine.env,
      });
      return { ...ran, asked: readFileSync(asked, "utf8").trimEnd().split("\n") };
    },
  };
  // The server would outlive a killed test.
  const watchdog = startWatchdog('"$1/pg_ctl" -D "$2" -m immediate stop; rm -rf -- "$3"', {
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

  /** Returns the shipped configuration with the test's folders in place of Debian's. */
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

/** A systemctl whose units are processes; PostgreSQL's unit controls the cluster's server. */
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
        start:postgresql@*) (${server} -l "${log}" -w -t 300 start) >/dev/null 2>&1 </dev/null ;;
        stop:*) if [ -e "${programs}/$unit" ]; then
          pid=$(cat "${programs}/$unit"); kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
        fi ;;
      esac
    done`;
}

function program(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/**
 * Returns the standard output.
 *
 * @throws {Error} with both outputs when the program has failed
 */
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
  const { status, signal, stdout, stderr, error } = spawnSync(program, [...args], {
    // A started server would keep inherited pipes open; it writes to its log.
    cwd: "/",
    encoding: "utf8",
    env: { ...inherited, ...env },
    ...credentials(account),
    stdio: program.endsWith("pg_ctl") ? "ignore" : "pipe",
  });
  if (error !== undefined) throw error;
  return { code: status ?? signal ?? 1, stdout: stdout ?? "", stderr: stderr ?? "" };
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
  const { output, ended } = collect(child);
  const code = await ended;
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

/** Returns a folder's size in bytes. Files that a running server deletes meanwhile may be missing. */
export function bytesOf(folder: string): number {
  return Number(run("du", ["-sb", folder]).stdout.split("\t")[0]);
}
