/**
 * A PostgreSQL server for `npm start` and the tests: a child process on a loopback port, with a password.
 *
 * A watchdog process stops the server if this process dies, even by SIGKILL.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free_port.ts";
import { credentials, findBinaries, type PostgresBinaries } from "./postgres_binaries.ts";
import {
  choosePlace,
  ensureData,
  environment,
  keeperFile,
  type Place,
  readPidFile,
  stopLeftover,
  superuser,
} from "./postgres_folder.ts";
import { signalProcess } from "./processes.ts";
import { postWatchdog, type Watchdog } from "./watchdog.ts";

/** How to start the server. */
export interface EmbeddedPostgresOptions {
  /**
   * For `postgres/` (the data), the password and the log. Default: a temporary folder that is removed with the server,
   * even if this process is killed.
   */
  readonly folder?: string;
  /** Server settings (`postgresql.conf` names). `fsync` and `full_page_writes` stay on unless set here. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Called with a message for the user, such as that the data is in another folder. */
  readonly onNotice?: (message: string) => void;
}

/** A running server. */
export interface EmbeddedPostgres {
  /** The superuser's URL of the database `postgres`; {@linkcode restart} keeps it. */
  readonly url: string;
  readonly port: number;
  readonly dataFolder: string;
  /** The server's output since its start. */
  readonly logFile: string;
  /** The postmaster's process id; {@linkcode restart} changes it. */
  readonly pid: number;
  /** Resolves when the running server has exited, for whatever reason. */
  readonly ended: Promise<void>;
  /** The URL of another database on this server. */
  databaseUrl(name: string): string;
  /** Signals only the postmaster, not its backends. */
  kill(signal: NodeJS.Signals): void;
  /** Fast shutdown; resolves when it has exited. */
  stop(): Promise<void>;
  /** Immediate shutdown; the next start recovers. */
  stopNow(): void;
  /** Stops it if it runs and starts it on the same port and data. */
  restart(): Promise<void>;
  /** Lets this process exit; the watchdog then stops the server. */
  unref(): void;
}

/** Crash recovery of a large database may take this long. */
const startTimeoutMs = 120_000;
/** A fast shutdown writes a checkpoint. */
const stopTimeoutMs = 30_000;
/** Between reads of the pid file; there is no signal to wait for. */
const pollMs = 10;

/**
 * Starts a server; creates its data if there is none.
 *
 * @throws {Error} with a sentence for the user
 */
export async function startPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const place = choosePlace(options.folder, options.onNotice);
  const binaries = findBinaries(place.account);
  await stopLeftover(place);
  const password = await ensureData(place, binaries);
  const server = new Server(place, binaries, password, options.settings ?? {});
  await server.launch();
  return server;
}

class Server implements EmbeddedPostgres {
  readonly #place: Place;
  readonly #binaries: PostgresBinaries;
  readonly #password: string;
  readonly #settings: Readonly<Record<string, string | number>>;
  #port = 0;
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  #ended = Promise.resolve();
  #unref = false;

  constructor(
    place: Place,
    binaries: PostgresBinaries,
    password: string,
    settings: Readonly<Record<string, string | number>>,
  ) {
    this.#place = place;
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
    return this.#place.dataFolder;
  }

  get logFile(): string {
    return join(this.#place.folder, "postgres.log");
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

  /** Starts the server on its previous port or a free one and waits until it accepts connections. */
  async launch(): Promise<void> {
    const deadlineMs = Date.now() + startTimeoutMs;
    const firstTime = this.#port === 0;
    while (true) {
      if (firstTime) this.#port = await freePort();
      this.#spawn();
      this.#watch();
      if (await this.#becomesReady(deadlineMs)) break;
      const output = readFileSync(this.logFile, "utf8");
      // Backends of a killed server exit after it; another program may take the port before the bind.
      const passes = /is still in use|lock file .* already exists|could not bind|in use by/.test(output);
      if (!passes || Date.now() > deadlineMs) {
        await this.stop();
        throw new Error(`PostgreSQL did not start in ${this.#place.folder}:\n${lastLines(output)}`);
      }
      await delay(50);
    }
  }

  #spawn(): void {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: this.#port,
      // No socket: it would be another way in, and its path has a length limit.
      unix_socket_directories: "",
      timezone: "UTC",
      log_timezone: "UTC",
      // The log goes to a file: a pipe would break if we die.
      logging_collector: "off",
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const log = openSync(this.logFile, "w", 0o600);
    const child = spawn(this.#binaries.postgres, ["-D", this.#place.dataFolder, ...args], {
      cwd: "/",
      // Its own session, so that Ctrl-C reaches only us and we stop things in order.
      detached: true,
      env: environment(),
      stdio: ["ignore", log, log],
      ...credentials(this.#place.account),
    });
    closeSync(log);
    if (this.#unref) child.unref();
    this.#child = child;
    this.#ended = new Promise((settle) => {
      child.once("exit", () => settle());
      child.once("error", () => settle());
    });
  }

  async #becomesReady(deadlineMs: number): Promise<boolean> {
    while (Date.now() < deadlineMs) {
      if (!this.#runs()) return false;
      const file = readPidFile(this.#place.dataFolder);
      if (file?.pid === this.pid && file.ready) return true;
      await delay(pollMs);
    }
    return false;
  }

  #runs(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  #watch(): void {
    // Compares the pid file, because a later server may run on the same data.
    const script = `
      runs() { [ "$(head -n 1 "$2/postmaster.pid" 2>&1)" = "$1" ]; }
      kill -CONT "$1"; kill -INT "$1" || exit
      n=0; while runs "$@" && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
      runs "$@" && kill -QUIT "$1"
      while runs "$@" && [ $n -lt 200 ]; do sleep 0.1; n=$((n + 1)); done
      [ -z "$3" ] || rm -rf -- "$3"`;
    const { dataFolder, folder, temporary, account } = this.#place;
    if (!temporary) writeFileSync(keeperFile(this.#place), String(process.pid), { mode: 0o600 });
    this.#watchdog?.dismiss();
    this.#watchdog = postWatchdog(script, {
      args: [String(this.pid), dataFolder, temporary ? folder : ""],
      ...credentials(account),
    });
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#runs()) signalProcess(this.pid, signal);
  }

  unref(): void {
    this.#unref = true;
    this.#child?.unref();
  }

  stopNow(): void {
    this.kill("SIGCONT");
    this.kill("SIGQUIT");
  }

  async #end(): Promise<void> {
    for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      this.kill("SIGCONT");
      this.kill(signal);
      const deadlineMs = Date.now() + stopTimeoutMs;
      while (this.#runs() && Date.now() < deadlineMs) await delay(pollMs);
    }
  }

  async stop(): Promise<void> {
    await this.#end();
    this.#watchdog?.dismiss();
    this.#watchdog = undefined;
    if (this.#place.temporary) rmSync(this.#place.folder, { recursive: true, force: true });
    else rmSync(keeperFile(this.#place), { force: true });
  }

  async restart(): Promise<void> {
    await this.#end();
    await this.launch();
  }
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-15).join("\n");
}
