/**
 * A Debian machine of its own: a tree booted by systemd-nspawn, with its own network, of which nothing is left in the end.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { postWatchdog } from "../../../scripts/watchdog.ts";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { until } from "../until.ts";

/** How a command ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What is booted. */
export interface MachineOptions {
  /** A folder of the tree; it stays as it is, changes are the machine's own. */
  readonly tree: string;
  /** Folders that the machine sees too, by the path that it has there; read only. */
  readonly folders?: Readonly<Record<string, string>>;
}

let count = 0;

/** A machine that runs. */
export class Machine {
  readonly #nspawn: ChildProcess;
  /** Its systemd's process id here. */
  readonly #leader: number;
  readonly #console: () => string;

  private constructor(nspawn: ChildProcess, leader: number, console: () => string) {
    this.#nspawn = nspawn;
    this.#leader = leader;
    this.#console = console;
  }

  /** Boots it, and returns when its systemd has started everything. It ends with the tests of the file. */
  static async boot({ tree, folders = {} }: MachineOptions): Promise<Machine> {
    const own = temporaryFolder("machine");
    for (const name of ["upper", "work", "root"]) mkdirSync(join(own, name));
    count += 1;
    const nspawn = spawn("unshare", [
      // The mount is seen by this process alone, and goes with it, however it ends.
      ...["--mount", "--propagation", "private", "--kill-child", "sh", "-e", "-c"],
      `mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
       machine=$3; root=$2/root; shift 3
       exec systemd-nspawn --quiet --directory "$root" --machine "$machine" --boot --private-network --register=no --keep-unit --console=pipe "$@"`,
      ...["sh", tree, own, `lead-${process.pid}-${count}`],
      ...Object.entries(folders).map(([there, here]) => `--bind-ro=${here}:${there}`),
    ], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [nspawn.stdout, nspawn.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => output += text);
    }
    const ended = new Promise<void>((settle) => nspawn.once("exit", () => settle()));
    let leader = 0;
    atEnd(async () => {
      // Its first process takes all others with it.
      if (leader !== 0 && nspawn.exitCode === null) process.kill(leader, "SIGKILL");
      else nspawn.kill("SIGKILL");
      await ended;
    });
    leader = await until(() => {
      if (nspawn.exitCode !== null) throw new Error(output);
      return leaderOf(nspawn.pid ?? 0);
    }, { what: "the machine's systemd" });
    // Also when this process is killed.
    const watchdog = postWatchdog('kill -s KILL "$1"', { args: [String(leader)] });
    atEnd(() => watchdog.dismiss());
    const machine = new Machine(nspawn, leader, () => output);
    await until(async () => {
      const { stdout } = await machine.run("systemctl", ["is-system-running"]);
      return /^(running|degraded)/.test(stdout);
    }, { what: "the machine has booted", deadlineMs: 120_000, intervalMs: 200 });
    return machine;
  }

  /** What stands in all its namespaces, before a command. */
  get #enter(): string[] {
    const options = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--cgroup"];
    return [
      "nsenter",
      "--target",
      String(this.#leader),
      ...options,
      "env",
      "-i",
      "LC_ALL=C",
      "HOME=/root",
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ];
  }

  /** Runs a command there as root. */
  async run(command: string, args: readonly string[] = [], input = ""): Promise<Ran> {
    const child = this.start(command, args);
    // One that ends without reading has its answer all the same.
    child.stdin?.on("error", () => {}).end(input);
    const [stdout, stderr] = [child.stdout, child.stderr].map(async (stream) => {
      let text = "";
      for await (const part of stream?.setEncoding("utf8") ?? []) text += part;
      return text;
    });
    const code = await new Promise<number>((settle) => child.once("close", (code) => settle(code ?? 1)));
    return { code, stdout: await stdout ?? "", stderr: await stderr ?? "" };
  }

  /** Starts a command there and returns at once; it ends with the machine. */
  start(command: string, args: readonly string[] = []): ChildProcess {
    const [enter = "", ...rest] = this.#enter;
    return spawn(enter, [...rest, command, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  }

  /**
   * Runs lines of shell there, and returns what they print.
   *
   * @throws {Error} with both outputs when the last line fails
   */
  async shell(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.run("bash", ["-c", script]);
    if (code !== 0) throw new Error(`exit code ${code} of ${script}\n${stdout}${stderr}`);
    return stdout;
  }

  /** What the machine has printed on its console. */
  get console(): string {
    return this.#console();
  }

  /** Whether it still runs. */
  get isUp(): boolean {
    return this.#nspawn.exitCode === null;
  }
}

/** The first process in the container of an nspawn, or 0. */
function leaderOf(pid: number): number {
  const childrenOf = (parent: number) =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ").filter(Boolean).map(
      Number,
    );
  const nspawn = [pid, ...childrenOf(pid)].find((one) =>
    readFileSync(`/proc/${one}/comm`, "utf8").startsWith("systemd-nspawn")
  );
  const [leader = 0] = nspawn === undefined ? [] : childrenOf(nspawn);
  // It forks several times before it is systemd.
  if (leader === 0 || !existsSync(`/proc/${leader}/comm`)) return 0;
  return readFileSync(`/proc/${leader}/comm`, "utf8").trim() === "systemd" ? leader : 0;
}
