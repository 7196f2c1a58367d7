import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
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

test("a release that does not fit on the disk is not unpacked", () => {
  const folder = temporaryFolder("releases");
  writeFileSync(join(folder, "file"), "");
  // A file in place of the folder for releases.
  const lines = `. "${common}"; releases="${folder}/file"; unpack() { echo "unpacked to $2"; }
    place_release "${folder}" 2>/dev/null || echo failed`;
  const { stdout } = spawnSync("bash", ["-euo", "pipefail", "-c", lines], { encoding: "utf8" });
  assert.equal(stdout, "failed\n");
  assert.deepEqual(readdirSync(folder), ["file"]);
});
