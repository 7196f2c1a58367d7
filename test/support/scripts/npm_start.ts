/** Runs `npm start` as a child process, as a person at a terminal sees it. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { listeners } from "../../../scripts/listeners.ts";
import { childrenOf, isAlive, signalProcess } from "../../../scripts/processes.ts";
import { collect } from "../output.ts";
import { until } from "../until.ts";
import { inherited } from "../environment.ts";

/** A running `npm start`. */
export interface Start {
  readonly child: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals>;
  /** The output of both streams so far. */
  readonly output: () => string;
  readonly isOver: () => boolean;
}

const anyPort = Object.fromEntries(listeners({}).map(({ variable }) => [variable, "127.0.0.1:0"]));
const running = new Set<ChildProcess>();

/** Kills what a failed test has left running, and waits until it is gone. */
export async function killAll(): Promise<void> {
  const pids = [...running].flatMap(({ pid = 0 }) => [...descendantsOf(pid), pid]);
  // A shell does not forward the signal that kills it.
  for (const pid of pids) signalProcess(pid, "SIGKILL");
  await allEnd(pids);
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child.pid, ...descendantsOf(child.pid)]);
}

export const onNode = [process.execPath, "--import", "./scripts/check_node.js", "scripts/start.ts"];
export const onDeno = ["./node_modules/.bin/deno", "run", "-A", "scripts/start.ts"];

/** Runs it in a copy of the repository, with every listener on a free port. */
export function start(folder: string, env: Readonly<Record<string, string>> = {}, command = onNode): Start {
  const child = spawn(command[0] ?? "", command.slice(1), {
    cwd: folder,
    // The part of a person's environment that npm passes on.
    env: { ...inherited, NO_COLOR: "1", ...anyPort, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("close", () => running.delete(child));
  const { both, ended } = collect(child);
  return { child, ended, output: both, isOver: () => !running.has(child) };
}

/** Waits for the welcome text and parses it. */
export async function welcome(started: Start) {
  await until(() => started.isOver() || started.output().includes("Press Ctrl-C to stop everything."), {
    deadlineMs: 120_000,
    what: "npm start says what it has started",
  });
  const text = started.output();
  assert.ok(!started.isOver(), text);
  return {
    text,
    url: /^ {2}intake +(\S+)$/m.exec(text)?.[1] ?? "",
    key: /^ {2}sandbox key +(\S+)$/m.exec(text)?.[1],
    formsKey: /^ {2}forms key +(\S+)$/m.exec(text)?.[1],
    formCurl: /^curl .*\/v1\/forms\/.*$/m.exec(text)?.[0] ?? "",
    curl: /^curl .*$/m.exec(text)?.[0] ?? "",
  };
}

/** Returns the ids of the postmaster, the actions process and the service, with the watchdogs. */
export function processesOf(started: Start): number[] {
  return childrenOf(started.child.pid ?? 0).map(({ pid }) => pid);
}

/** Waits until none of the processes is running. */
export async function allEnd(pids: readonly number[]): Promise<void> {
  await until(() => pids.every((pid) => !isAlive(pid)), {
    deadlineMs: 30_000,
    what: "nothing is left behind",
  });
}
