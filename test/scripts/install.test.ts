import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folder.ts";

const common = fileURLToPath(new URL("../../scripts/install/common.sh", import.meta.url));

test("a file that cannot be written completely does not replace the previous one, even where bash would continue", () => {
  const folder = temporaryFolder("units");
  const [now, next] = [join(folder, "now"), join(folder, "next")];
  writeFileSync(now, "as it was");
  writeFileSync(next, "x".repeat(100_000));
  // Like a full disk: at most 1 KiB of a file is written.
  const lines = `. "${common}"; trap "" XFSZ; ulimit -f 1
    copy_if_changed "${next}" "${now}" 644 2>/dev/null || echo failed`;
  const { stdout } = spawnSync("bash", ["-euo", "pipefail", "-c", lines], { encoding: "utf8" });
  assert.equal(stdout, "failed\n");
  assert.equal(readFileSync(now, "utf8"), "as it was");
});

test("a release that does not fit on the disk is not installed, and leaves nothing", () => {
  const [release, releases] = [temporaryFolder("release"), temporaryFolder("releases")];
  mkdirSync(join(release, "runtime"));
  writeFileSync(join(release, "runtime/node"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(release, "VERSION"), "1.2.3\n");
  writeFileSync(join(release, "service.js"), "x".repeat(100_000));
  const install = (before: string) => {
    const lines = `(cd "${release}"; sha256sum VERSION service.js runtime/node >SHA256SUMS)
      . "${common}"; releases="${releases}"; ${before}
      install_release "${release}" 2>/dev/null && echo "installed $version" || echo failed`;
    return spawnSync("bash", ["-euo", "pipefail", "-c", lines], { encoding: "utf8" }).stdout;
  };
  // Like a full disk: at most 1 KiB of a file is written.
  assert.equal(install('trap "" XFSZ; ulimit -f 1'), "failed\n");
  assert.deepEqual(readdirSync(releases), []);
  assert.equal(install(""), "installed 1.2.3\n");
  assert.deepEqual(readdirSync(releases), ["1.2.3"]);
});
