/** A Debian machine: a tree booted by systemd-nspawn with a private network, removed afterwards. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startWatchdog } from "../../../scripts/watchdog.ts";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { collect } from "../output.ts";
import type { Ran } from "../tool.ts";
import { until } from "../until.ts";

/** What to boot. */
export interface MachineOptions {
  /** The root folder. The machine's changes are discarded. */
  readonly tree: string;
  /** Read-only folders by their path inside the machine. */
  readonly folders?: Readonly<Record<string, string>>;
}

let count = 0;

/** A running machine. */
export class Machine {
  readonly #nspawn: ChildProcess;
  /** The process id of its systemd on the host. */
  readonly #leader: number;
  readonly #console: () => string;

  private constructor(nspawn: ChildProcess, leader: number, console: () => string) {
    this.#nspawn = nspawn;
    this.#leader = leader;
    this.#console = console;
  }

  /**
   * Boots the machine and returns once its systemd has started everything. It stops after the tests of the file.
   */
  static async boot({ tree, folders = {} }: MachineOptions): Promise<Machine> {
    const own = temporaryFolder("machine");
    for (const name of ["upper", "work", "root"]) mkdirSync(join(own, name));
    count += 1;
    const nspawn = spawn("unshare", [
      // Only this process sees the mount, which is removed when the process ends.
      "--mount",
      "--propagation",
      "private",
      "--kill-child",
      "sh",
      "-e",
      "-c",
      `mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
       machine=$3; root=$2/root; shift 3
       exec systemd-nspawn --quiet --directory "$root" --machine "$machine" --boot --private-network --register=no --keep-unit --console=pipe "$@"`,
      "sh",
      tree,
      own,
      `lead-${process.pid}-${count}`,
      ...Object.entries(folders).map(([there, here]) => `--bind-ro=${here}:${there}`),
    ], { stdio: ["ignore", "pipe", "pipe"] });
    const { both: output } = collect(nspawn);
    const ended = new Promise<void>((settle) => nspawn.once("exit", () => settle()));
    let leader = 0;
    atEnd(async () => {
      // Its first process ends all others.
      if (leader !== 0 && nspawn.exitCode === null) process.kill(leader, "SIGKILL");
      else nspawn.kill("SIGKILL");
      await ended;
    });
    leader = await until(() => {
      if (nspawn.exitCode !== null) throw new Error(output());
      return leaderOf(nspawn.pid ?? 0);
    }, { what: "the machine's systemd" });
    // Also when this process is killed.
    const watchdog = startWatchdog('kill -s KILL "$1"', { args: [String(leader)] });
    atEnd(() => watchdog.dismiss());
    const machine = new Machine(nspawn, leader, output);
    await until(async () => {
      const { stdout } = await machine.run("systemctl", ["is-system-running"]);
      return /^(running|degraded)/.test(stdout);
    }, { what: "the machine has booted", deadlineMs: 120_000, intervalMs: 200 });
    return machine;
  }

  /** The nsenter arguments that enter all its namespaces. */
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

  /** Runs a command on the machine as root. */
  async run(command: string, args: readonly string[] = [], input = ""): Promise<Ran> {
    const child = this.start(command, args);
    // A command may exit without reading its input.
    child.stdin?.on("error", () => {}).end(input);
    const { output, ended } = collect(child);
    const code = await ended;
    return { code, ...output };
  }

  /** Starts a command on the machine and returns at once; it ends with the machine. */
  start(command: string, args: readonly string[] = []): ChildProcess {
    const [enter = "", ...rest] = this.#enter;
    return spawn(enter, [...rest, command, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  }

  /**
   * Runs shell lines on the machine and returns their output.
   *
   * @throws {Error} with both outputs when the last line fails
   */
  async shell(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.run("bash", ["-c", script]);
    if (code !== 0) throw new Error(`exit code ${code} of ${script}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Returns the console output so far. */
  get console(): string {
    return this.#console();
  }

  /** Returns whether the machine is running. */
  get isUp(): boolean {
    return this.#nspawn.exitCode === null;
  }
}

/** Returns the process id of the container's first process, or 0. */
function leaderOf(pid: number): number {
  const childrenOf = (parent: number) =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ").filter(Boolean).map(
      Number,
    );
  const nspawn = [pid, ...childrenOf(pid)].find((one) =>
    readFileSync(`/proc/${one}/comm`, "utf8").startsWith("systemd-nspawn")
  );
  const [leader = 0] = nspawn === undefined ? [] : childrenOf(nspawn);
  // nspawn forks several times before it executes systemd.
  if (leader === 0 || !existsSync(`/proc/${leader}/comm`)) return 0;
  return readFileSync(`/proc/${leader}/comm`, "utf8").trim() === "systemd" ? leader : 0;
}
