/**
 * Runs the tools of other languages, and finds out whether they are there.
 *
 * @module
 */

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The folder with what the clients are made of. */
export const sources = fileURLToPath(new URL("../../generated_clients/", import.meta.url));

/** A command and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/** What has to work for each language, and how to get it on Debian. */
export const toolchains = {
  TypeScript: { commands: [], install: "npm ci" },
  Python: {
    commands: [["python3", "-c", "import ensurepip, venv"]],
    install: "apt-get install python3-venv",
  },
  Go: {
    commands: [["go", "-C", `${sources}go`, "list", "-m"]],
    install: "a Go as new as test/generated_clients/go/go.mod says",
  },
  Java: {
    commands: [["javac", "-version"], ["keytool", "-help"], ["mvn", "-version"]],
    install: "apt-get install default-jdk-headless maven",
  },
} as const satisfies Record<string, { commands: readonly Command[]; install: string }>;

/** A language that there is a client in. */
export type Language = keyof typeof toolchains;

/**
 * Whether the tools of a language are there. In CI they have to be.
 *
 * @throws {Error} in CI, when they are not, with what to install
 */
export function hasToolchain(language: Language): boolean {
  const { commands, install } = toolchains[language];
  const missing = commands.find(([program, ...args]) =>
    spawnSync(program, args, { stdio: "ignore" }).status !== 0
  );
  if (missing !== undefined && process.env.CI === "true") {
    throw new Error(`${missing.join(" ")} does not work, for a client in ${language}: ${install}`);
  }
  return missing === undefined;
}

// Nothing here runs for as long as the better compiler takes.
const shortJava = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

// Compiling Go's generator from nothing takes most of a minute of processor.
const timeoutMs = 8 * 60_000;

/**
 * Runs a command to its end and returns its standard output.
 *
 * @throws {Error} with all that it said, when it fails
 */
export function run(
  [program, ...args]: Command,
  { cwd, env }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise((settle, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", JAVA_TOOL_OPTIONS: shortJava, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) settle(stdout);
      else reject(new Error(`${program} ${args.join(" ")}: ${code ?? signal}\n${stdout}${stderr}`));
    });
  });
}
