/**
 * A release as a Debian package, made by `dpkg-deb` alone. The package carries the release as files of its own, and its
 * maintainer scripts hand these to `scripts/install.sh` and `scripts/upgrade.sh`: there is one way to install.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const sources = fileURLToPath(new URL("debian/", import.meta.url));

/** Where the package has the release; `postinst` installs from there. */
const payload = "usr/lib/lead-intake";

/** What is made of a release's folder, which is used up. */
export interface DebOptions {
  readonly folder: string;
  readonly version: string;
  readonly target: string;
  /** Of every file in it. */
  readonly epochSeconds: number;
}

/** Makes the package and returns its path. */
export function packDeb({ folder, version, target, epochSeconds }: DebOptions): string {
  const tree = `${folder}.deb`;
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(join(tree, "usr/lib"), { recursive: true });
  renameSync(folder, join(tree, payload));
  addDocuments(tree);
  const arch = execFileSync("dpkg", ["--print-architecture"], { encoding: "utf8" }).trim();
  addControl(tree, { version, arch });
  const file = join(target, `lead-intake_${version}_${arch}.deb`);
  execFileSync("find", [tree, "-exec", "touch", "--no-dereference", `--date=@${epochSeconds}`, "{}", "+"]);
  // xz would take a minute more for a tenth less.
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "--build", tree, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return file;
}

function addDocuments(tree: string): void {
  const folder = join(tree, "usr/share/doc/lead-intake");
  mkdirSync(folder, { recursive: true });
  cpSync(join(tree, payload, "LICENSE"), join(folder, "copyright"));
}

function addControl(
  tree: string,
  { version, arch }: { readonly version: string; readonly arch: string },
): void {
  const folder = join(tree, "DEBIAN");
  mkdirSync(folder);
  const files = readdirSync(tree, { recursive: true, encoding: "utf8" })
    .filter((path) => !path.startsWith("DEBIAN") && statSync(join(tree, path)).isFile()).sort();
  const bytes = files.reduce((sum, path) => sum + statSync(join(tree, path)).size, 0);
  const control = readFileSync(join(sources, "control"), "utf8")
    .replace("VERSION", version).replace("ARCH", arch).replace("SIZE", String(Math.ceil(bytes / 1024)));
  writeFileSync(join(folder, "control"), control);
  const digest = (path: string) => createHash("md5").update(readFileSync(join(tree, path))).digest("hex");
  writeFileSync(join(folder, "md5sums"), files.map((path) => `${digest(path)}  ${path}\n`).join(""));
  for (const script of ["postinst", "prerm", "postrm"]) {
    writeFileSync(join(folder, script), readFileSync(join(sources, script)), { mode: 0o755 });
  }
}
