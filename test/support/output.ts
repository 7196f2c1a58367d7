import type { ChildProcess } from "node:child_process";

/** The output of a program so far, and its end: the exit code, or the signal that killed it. */
export interface Collected {
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** Returns the output of both streams so far, in the order in which it came. */
  readonly both: () => string;
  /** Rejects when the program cannot be started. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Collects the output of a started program as text. */
export function collect(child: ChildProcess): Collected {
  const output = { stdout: "", stderr: "" };
  let both = "";
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      both += text;
    });
  }
  const ended = new Promise<number | NodeJS.Signals>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => settle(code ?? signal ?? 1));
  });
  // The promise may stay unhandled.
  ended.catch(() => {});
  return { output, both: () => both, ended };
}
