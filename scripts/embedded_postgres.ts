/**
 * Runs a PostgreSQL server for `npm start` and the tests: a child process on a loopback port, with a password. A
 * watchdog process stops the server if this process dies, even by SIGKILL.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free_port.ts";
import { credentials, findBinaries, type PostgresBinaries } from "./postgres_binaries.ts";
import {
  chooseFolder,
  ensureData,
  environment,
  readPidFile,
  type ServerFolder,
  starterPidFile,
  stopOrphanedServer,
  superuser,
} from "./postgres_folder.ts";
import { writePrivateFile } from "./private_file.ts";
import { signalProcess } from "./processes.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

export interface EmbeddedPostgresOptions {
  /**
   * The folder for `postgres/` (the data), the password and the log. Default: a temporary folder that is removed with
   * the server, even if this process is killed.
   */
  readonly folder?: string;
  /** Server settings (`postgresql.conf` names). `fsync` and `full_page_writes` stay on unless set here. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Called with a message for the user, for example that the data is in another folder. */
  readonly onNotice?: (message: string) => void;
}

export interface EmbeddedPostgres {
  /** The superuser's URL for the database `postgres`; {@linkcode restart} does not change it. */
  readonly url: string;
  readonly port: number;
  readonly dataFolder: string;
  /** The file with the server's output since its last start. */
  readonly logFile: string;
  /** The postmaster's process id; {@linkcode restart} changes it. */
  readonly pid: number;
  /** Resolves when the running server has exited, for any reason. */
  readonly ended: Promise<void>;
  /** Returns the URL of another database on this server. */
  databaseUrl(name: string): string;
  /** Signals only the postmaster, not its backends. */
  kill(signal: NodeJS.Signals): void;
  /** Requests a fast shutdown; resolves when the server has exited. */
  stop(): Promise<void>;
  /** Requests an immediate shutdown; the next start recovers. */
  stopNow(): void;
  /** Stops the server if it is running, and starts it again on the same port with the same data. */
  restart(): Promise<void>;
  /** Lets this process exit; the watchdog then stops the server. */
  unref(): void;
}

// Enough for the crash recovery of a large database.
const startTimeoutMs = 120_000;
// Enough for the checkpoint of a fast shutdown.
const stopTimeoutMs = 30_000;
// How often the pid file is read; there is no signal to wait for.
const pollMs = 10;

/**
 * Starts a server, and creates its data if there is none.
 *
 * @throws {Error} whose message is for the user
 */
export async function startPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const folder = chooseFolder(options.folder, options.onNotice);
  const binaries = findBinaries(folder.account);
  await stopOrphanedServer(folder);
  const password = await ensureData(folder, binaries);
  const server = new Server(folder, binaries, password, options.settings ?? {});
  await server.launch();
  return server;
}

class Server implements EmbeddedPostgres {
  readonly #folder: ServerFolder;
  readonly #binaries: PostgresBinaries;
  readonly #password: string;
  readonly #settings: Readonly<Record<string, string | number>>;
  #port = 0;
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  #ended = Promise.resolve();
  #isUnreferenced = false;

  constructor(
    folder: ServerFolder,
    binaries: PostgresBinaries,
    password: string,
    settings: Readonly<Record<string, string | number>>,
  ) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.#password = password;
    this.#settings = settings;
  }

  get url(): string {
    return this.databaseUrl("postgres");
  }

  get port(): number {
    return this.#port;
  }

  get dataFolder(): string {
    return this.#folder.dataFolder;
  }

  get logFile(): string {
    return join(this.#folder.folder, "postgres.log");
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get ended(): Promise<void> {
    return this.#ended;
  }

  databaseUrl(name: string): string {
    return `postgres://${superuser}:${this.#password}@127.0.0.1:${this.#port}/${name}`;
  }

  /** Starts the server on its previous port or on a free one, and waits until it accepts connections. */
  async launch(): Promise<void> {
    const deadlineMs = Date.now() + startTimeoutMs;
    const isFirstStart = this.#port === 0;
    while (true) {
      if (isFirstStart) this.#port = await freePort();
      this.#spawn();
      this.#startWatchdog();
      if (await this.#waitUntilReady(deadlineMs)) break;
      const output = readFileSync(this.logFile, "utf8");
      // The backends of a killed server may still be running, or another program may have taken the port.
      const isTemporary = /is still in use|lock file .* already exists|could not bind|in use by/.test(output);
      if (!isTemporary || Date.now() > deadlineMs) {
        await this.stop();
        throw new Error(`PostgreSQL did not start in ${this.#folder.folder}:\n${lastLines(output)}`);
      }
      await delay(50);
    }
  }

  #spawn(): void {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: this.#port,
      // No Unix socket, because it would be another way in, and its path would have a length limit.
      unix_socket_directories: "",
      timezone: "UTC",
      log_timezone: "UTC",
      // The server writes to a file, because a pipe would break when this process dies.
      logging_collector: "off",
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    writePrivateFile(this.logFile, "");
    const log = openSync(this.logFile, "a");
    const child = spawn(this.#binaries.postgres, ["-D", this.#folder.dataFolder, ...args], {
      cwd: "/",
      // The server has its own session, so that Ctrl-C reaches only this process, which stops everything in order.
      detached: true,
      env: environment(),
      stdio: ["ignore", log, log],
      ...credentials(this.#folder.account),
    });
    closeSync(log);
    if (this.#isUnreferenced) child.unref();
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
  }

  async #waitUntilReady(deadlineMs: number): Promise<boolean> {
    while (Date.now() < deadlineMs) {
      if (!this.#isRunning()) return false;
      const file = readPidFile(this.#folder.dataFolder);
      if (file?.pid === this.pid && file.isReady) return true;
      await delay(pollMs);
    }
    return false;
  }

  #isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  #startWatchdog(): void {
    // The script compares the pid file, because another server may be using the same data by then.
    const script = `
      runs() { [ "$(head -n 1 "$2/postmaster.pid" 2>&1)" = "$1" ]; }
      kill -CONT "$1"; kill -INT "$1" || exit
      n=0; while runs "$@" && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
      runs "$@" && kill -QUIT "$1"
      while runs "$@" && [ $n -lt 200 ]; do sleep 0.1; n=$((n + 1)); done
      [ -z "$3" ] || rm -rf -- "$3"`;
    const { dataFolder, folder, isTemporary, account } = this.#folder;
    if (!isTemporary) writeFileSync(starterPidFile(this.#folder), String(process.pid), { mode: 0o600 });
    this.#watchdog?.dismiss();
    this.#watchdog = startWatchdog(script, {
      args: [String(this.pid), dataFolder, isTemporary ? folder : ""],
      ...credentials(account),
    });
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#isRunning()) signalProcess(this.pid, signal);
  }

  unref(): void {
    this.#isUnreferenced = true;
    this.#child?.unref();
  }

  stopNow(): void {
    this.kill("SIGCONT");
    this.kill("SIGQUIT");
  }

  async #stopServer(): Promise<void> {
    for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      this.kill("SIGCONT");
      this.kill(signal);
      const deadlineMs = Date.now() + stopTimeoutMs;
      while (this.#isRunning() && Date.now() < deadlineMs) await delay(pollMs);
    }
  }

  async stop(): Promise<void> {
    await this.#stopServer();
    this.#watchdog?.dismiss();
    this.#watchdog = undefined;
    if (this.#folder.isTemporary) rmSync(this.#folder.folder, { recursive: true, force: true });
    else rmSync(starterPidFile(this.#folder), { force: true });
  }

  async restart(): Promise<void> {
    await this.#stopServer();
    await this.launch();
  }
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-15).join("\n");
}
