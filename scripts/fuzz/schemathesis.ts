/**
 * Schemathesis, in a Python environment of its own, with the versions and digests of `requirements.txt`.
 *
 * @module
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildFolder as benchFolder, run, say, start } from "../bench/programs.ts";
import type { Seeded } from "../seed.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
const buildFolder = join(benchFolder, "../fuzz");
const bin = join(buildFolder, "venv/bin");

/** The surfaces that the document describes. */
const surfaces = ["intake", "forms", "subscription"] as const;

/** Installs it, unless what is there is what `requirements.txt` says. */
export async function installSchemathesis(): Promise<void> {
  const wanted = readFileSync(join(folder, "requirements.txt"), "utf8");
  const installed = join(buildFolder, "venv/installed.txt");
  if (existsSync(installed) && readFileSync(installed, "utf8") === wanted) return;
  say("Installing schemathesis into build/fuzz");
  mkdirSync(buildFolder, { recursive: true });
  // With all of the environment: it may name a proxy or a certificate.
  const quietly = { timeoutMs: 600_000, env: process.env };
  await run("python3", ["-m", "venv", "--clear", join(buildFolder, "venv")], quietly);
  const requirements = ["--require-hashes", "--requirement", join(folder, "requirements.txt")];
  await run(join(bin, "pip"), ["install", "--quiet", ...requirements], quietly);
  writeFileSync(installed, wanted);
}

/** What is fuzzed, and how. */
export interface FuzzOptions {
  /** The base address of each surface. */
  readonly urls: Readonly<Record<string, string>>;
  readonly seeded: Seeded;
  /** Requests that are generated for each post; a read gets a fifth. */
  readonly examples: number;
  readonly seed: number;
  /** Of the reports. */
  readonly name: string;
}

/** The part of the document that tells its operations apart. */
interface Document {
  readonly paths: Readonly<Record<string, { readonly servers?: readonly { readonly url: string }[] }>>;
}

/** Fuzzes all surfaces at once; returns a sentence for each part where something was found. */
export async function fuzz(options: FuzzOptions): Promise<string[]> {
  const document = await (await fetch(`${options.urls.intake}/api/openapi.json`)).json() as Document;
  const failed = await Promise.all(
    partsOf(document, options).map(async (part) => {
      const report = join(buildFolder, `${options.name}_${part.name}.txt`);
      return await runPart(part, { ...options, report }) === 0 ? [] : [`${part.name}: see ${report}`];
    }),
  );
  return failed.flat();
}

/** Operations that are fuzzed by one process. */
interface Part {
  readonly name: string;
  readonly url: string;
  readonly paths: readonly string[];
  readonly key: string;
  readonly examples: number;
}

/** A post is a part of its own: it gets the most requests. */
function partsOf(document: Document, { urls, seeded, examples }: FuzzOptions): Part[] {
  return surfaces.flatMap((surface) => {
    const url = urls[surface] as string;
    const paths = Object.entries(document.paths)
      .filter(([, { servers }]) => servers?.some((server) => server.url === url) ?? surface === "intake")
      .map(([path]) => path);
    const isPost = (path: string) => "post" in (document.paths[path] as object);
    const key = surface === "forms" ? seeded.formsKey : seeded.key;
    const part = (kind: string, chosen: readonly string[], count: number): Part[] =>
      chosen.length === 0 ? [] : [{ name: `${surface}_${kind}`, url, paths: chosen, key, examples: count }];
    return [
      ...part("posts", paths.filter(isPost), examples),
      ...part("reads", paths.filter((path) => !isPost(path)), Math.ceil(examples / 5)),
    ];
  });
}

function runPart(part: Part, { urls, seeded, seed, report }: FuzzOptions & { readonly report: string }) {
  const child = start(join(bin, "schemathesis"), [
    ...["--config-file", join(folder, "schemathesis.toml"), "--no-color"],
    ...["run", `${urls.intake}/api/openapi.json`, "--url", part.url, "--header", `X-API-Key: ${part.key}`],
    ...part.paths.flatMap((path) => ["--include-path", path]),
    ...["--max-examples", String(part.examples), "--seed", String(seed), "--generation-database", "none"],
  ], {
    // Its own files, such as the examples that it keeps, go there.
    cwd: buildFolder,
    env: {
      SCHEMATHESIS_HOOKS: "checks",
      PYTHONPATH: folder,
      PYTHONDONTWRITEBYTECODE: "1",
      FUZZ_KEYS: `${seeded.key} ${seeded.formsKey}`,
    },
    logFile: report,
  });
  return new Promise<number | null>((settle, reject) => {
    child.once("error", reject);
    child.once("close", settle);
  });
}
