/** Reads the kits' manifests. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isSkipped } from "../../../scripts/test_plan.ts";
import { kitsFolder } from "../../../kits/conformance/suite.ts";
import { mustRun } from "../tool.ts";

/** The contents of `kit.json`, described in `kits/conformance/README.md`. */
export interface KitManifest {
  readonly name: string;
  readonly from: string;
  readonly about: string;
  readonly platform: string;
  readonly published: boolean;
  /** Installs the kit from a copy of the repository, whose folder is `REPO`. */
  readonly local: string;
  /** Installs the kit from its registry. */
  readonly install: string;
  readonly address: string;
  readonly manifest: string;
  readonly example: string;
  /** Commands for `scripts/release_kits.sh`, with `OUT` and `VERSION`. */
  readonly release: { readonly build: string; readonly publish: string };
  readonly checks: Readonly<Record<string, string>>;
}

/** One kit of the repository. */
export interface Kit extends KitManifest {
  /** The name of its folder: `go`. */
  readonly id: string;
  readonly folder: string;
}

/** The properties that all kits share. */
export const all: {
  readonly version: string;
  /** The values of the placeholders in braces in a `kit.json`. */
  readonly names: Readonly<Record<string, string>>;
  readonly kits: readonly string[];
} = JSON.parse(readFileSync(join(kitsFolder, "kits.json"), "utf8"));

/** All kits in order. */
export const kits: readonly Kit[] = all.kits.map((id) => {
  const folder = join(kitsFolder, id);
  const manifest = readFileSync(join(folder, "kit.json"), "utf8");
  return {
    ...JSON.parse(manifest.replace(/\{(\w+)\}/g, (_, name) => all.names[name] as string)),
    id,
    folder,
  };
});

/** The kits whose tools this machine has. */
export const testedKits: readonly Kit[] = kits.filter(({ name }) => !isSkipped(`test/kits/: ${name}`));

/** Node's own folder first, so that `node` is the version that runs the tests. */
const path = `${dirname(process.execPath)}:${process.env.PATH ?? ""}`;

/**
 * Runs a command in a kit's folder and returns its output.
 *
 * @throws {Error} with the whole output, when it fails
 */
export function runIn(
  folder: string,
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return mustRun(["sh", "-c", command], { cwd: folder, env: { PATH: path, ...env } });
}

const installers =
  /\b(?:npm|pnpm|yarn|bun|npx|deno|pip3?|pipx|uv|poetry|cargo|gem|bundle|composer)\b|\bgo (?:get|install)|\bdotnet add|implementation\(|artifactId|PackageReference|^[\w-]+ = "/;

/**
 * Returns the lines of a text that would install one of these packages from a registry: they contain an installer
 * or a manifest's syntax, and the name without a folder of the repository.
 */
export function registryInstalls(text: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const bare = new RegExp(`(?<![\\w./*-])(?:@?[\\w.-]+/)?(?:${names.join("|")})(?![\\w-]*\\.(?:md|gem|tgz))`);
  return text.split("\n").map((line) => line.trim()).filter((line) =>
    installers.test(line) && bare.test(line) && !line.includes("$REPO")
  );
}
