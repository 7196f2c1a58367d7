/**
 * `npm run package`: writes a release's tarball to `build/`. It is reproducible: names are sorted, files belong to
 * root, and times come from the last commit or `SOURCE_DATE_EPOCH`.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeRelease } from "./release.ts";

const usage = `Usage: npm run package [-- [--version VERSION] [--to DIR]]

Builds DIR/lead-intake-VERSION.tar.gz for this machine's processor. Defaults: build/ and the version in package.json.`;

const root = fileURLToPath(new URL("../../", import.meta.url));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      version: { type: "string" },
      to: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const version = values.version ??
    String(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  if (!/^\d[0-9A-Za-z.+~]{0,60}$/.test(version)) throw new Error(`${version} is not a version such as 1.2.3`);
  const target = resolve(values.to ?? join(root, "build"));
  mkdirSync(target, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), "lead-intake-package-"));
  try {
    const release = {
      folder: join(work, `lead-intake-${version}`),
      version,
      target,
      epochSeconds: sourceEpoch(),
    };
    await makeRelease(release);
    const file = packTarball(release);
    console.log(`${file} (${(statSync(file).size / 1e6).toFixed(1)} MB)`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sourceEpoch(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  try {
    return Number(
      execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, stdio: ["ignore", "pipe", "ignore"] }),
    );
  } catch {
    // This is not a Git repository.
    return Math.floor(statSync(join(root, "package.json")).mtimeMs / 1_000);
  }
}

interface ReleaseBuild {
  readonly folder: string;
  readonly version: string;
  readonly target: string;
  readonly epochSeconds: number;
}

function packTarball({ folder, version, target, epochSeconds }: ReleaseBuild): string {
  const file = join(target, `lead-intake-${version}.tar.gz`);
  const tar = [
    "--sort=name",
    `--mtime=@${epochSeconds}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--format=gnu",
    "--use-compress-program=gzip -n",
    "-cf",
    file,
    "-C",
    join(folder, ".."),
  ];
  execFileSync("tar", [...tar, `lead-intake-${version}`]);
  return file;
}

try {
  await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
