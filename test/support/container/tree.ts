/** A bootable Debian 12 tree, created once by debootstrap and kept in the system's temporary folder. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const suite = "bookworm";
/** The packages of a bootable machine beyond a minimal Debian. */
const basis = ["systemd", "systemd-sysv", "dbus"];
// A slow mirror takes less time for 200 packages.
const buildMsMax = 15 * 60_000;

/**
 * Returns why no container can be booted here, or `null` if one can.
 *
 * @throws {Error} in CI, with what is missing
 */
export function missingForContainers(): string | null {
  const missing = whatIsMissing();
  if (missing !== null && process.env.CI === "true") {
    throw new Error(`No container can be booted: ${missing}`);
  }
  return missing;
}

function whatIsMissing(): string | null {
  if (process.getuid?.() !== 0) return "it takes root";
  for (const [program, name] of [["debootstrap", "debootstrap"], ["systemd-nspawn", "systemd-container"]]) {
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0) return `apt-get install ${name}`;
  }
  if (mirror() === null) return `apt knows no mirror of Debian ${suite}`;
  // A container within a container may lack the rights.
  const mayMount =
    "unshare --mount sh -c 'mount -t tmpfs none /mnt && mkdir /mnt/l /mnt/u /mnt/w /mnt/m && " +
    "mount -t overlay none -o lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w /mnt/m'";
  return spawnSync("sh", ["-c", mayMount]).status === 0 ? null : "it may not mount file systems";
}

/** Returns the mirror that this machine uses. */
function mirror(): string | null {
  const format = "$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)";
  const { stdout } = spawnSync("apt-get", ["indextargets", "--format", format], { encoding: "utf8" });
  return new RegExp(`^Debian ${suite} main (\\S+)$`, "m").exec(stdout ?? "")?.[1] ?? null;
}

/** Returns the folder of a tree with these packages. Do not write into it. */
export function debianTree(packages: readonly string[] = []): string {
  const all = [...new Set([...basis, ...packages])].sort();
  const digest = createHash("sha256").update(`${suite} ${all.join(" ")}`).digest("hex").slice(0, 12);
  const tree = join(tmpdir(), `lead-intake-tree-${suite}-${digest}`);
  if (existsSync(tree)) return tree;
  const from = mirror();
  if (from === null) throw new Error(`apt knows no mirror of Debian ${suite}`);
  const aside = mkdtempSync(`${tree}-new-`);
  // The tree's accounts read it.
  chmodSync(aside, 0o755);
  try {
    execFileSync("debootstrap", ["--variant=minbase", `--include=${all.join(",")}`, suite, aside, from], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: buildMsMax,
      maxBuffer: 64 * 1024 * 1024,
    });
    rmSync(join(aside, "var/cache/apt/archives"), { recursive: true, force: true });
    renameSync(aside, tree);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    // Another process has created it meanwhile.
    if (!existsSync(tree)) throw error;
  }
  return tree;
}
