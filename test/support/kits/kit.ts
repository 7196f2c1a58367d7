/**
 * The kits as their manifests describe them.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isLeftOut } from "../../../scripts/test_plan.ts";
import { kitsFolder } from "../../../kits/conformance/suite.ts";
import { mustRun } from "../tool.ts";

/** What `kit.json` says; `kits/conformance/README.md` says what it means. */
export interface KitManifest {
  readonly name: string;
  readonly from: string;
  readonly about: string;
  readonly platform: string;
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

/** What holds for all of them. */
export const all: {
  readonly version: string;
  readonly published: boolean;
  readonly kits: readonly string[];
} = JSON.parse(readFileSync(join(kitsFolder, "kits.json"), "utf8"));

/** All kits, in their order. */
export const kits: readonly Kit[] = all.kits.map((id) => {
  const folder = join(kitsFolder, id);
  return { ...JSON.parse(readFileSync(join(folder, "kit.json"), "utf8")), id, folder };
});

/** The kits whose tools this machine has. */
export const testedKits: readonly Kit[] = kits.filter(({ name }) => !isLeftOut(`test/kits/: ${name}`));

/** Node's own folder first: what calls `node` means the one that runs the tests. */
const path = `${dirname(process.execPath)}:${process.env.PATH ?? ""}`;

/**
 * Runs a command in a kit's folder to its end and returns what it printed.
 *
 * @throws {Error} with all that it said, when it fails
 */
export function runIn(
  folder: string,
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return mustRun(["sh", "-c", command], { cwd: folder, env: { PATH: path, ...env } });
}
