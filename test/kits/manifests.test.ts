import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { kitFolders } from "../../kits/conformance/suite.ts";
import { kits as told } from "../../src/documents/kits.ts";
import { isLeftOut } from "../../scripts/test_plan.ts";
import { all, kits, runIn, testedKits } from "../support/kits/kit.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const members = [
  "name",
  "from",
  "about",
  "platform",
  "install",
  "address",
  "manifest",
  "example",
  "release",
  "checks",
];

test("every folder with a driver is a kit, and is told of", () => {
  assert.deepEqual(kitFolders(), [...all.kits].sort());
  assert.deepEqual(told.map(({ name }) => name), kits.map(({ name }) => name));
});

for (const kit of kits) {
  const within = (path: string) => read(`kits/${kit.id}/${path}`);

  test(`${kit.name} has a manifest, the licence, and a README that a user can start from`, () => {
    assert.deepEqual(members.filter((name) => !(name in kit)), []);
    assert.equal(kit.name, `leads-${kit.id}`);
    assert.match(kit.address, /^pkg:[a-z]+\/\S+$/);
    assert.ok(existsSync(join(kit.folder, kit.manifest)));
    assert.equal(within("LICENSE"), read("LICENSE"));
    assert.match(within("README.md"), new RegExp(`^# ${kit.name}\n`));
  });
}

test("a release builds every kit's files and publishes nothing unless it is told to", async () => {
  const here = testedKits.filter(({ name }) => !isLeftOut(`test/kits/: ${name}: release`));
  // leads-cli builds each platform twice, and takes minutes for all of them; a release does.
  const said = await runIn(root, `scripts/release_kits.sh ${here.map(({ id }) => id).join(" ")}`, {
    PLATFORMS: "linux/amd64 windows/arm64",
  });
  for (const { name, id } of here) {
    assert.match(said, new RegExp(`^${name} ${all.version}: \\S`, "m"));
    assert.match(said, new RegExp(`^would publish ${name}: \\S`, "m"));
    const folder = join(root, "build/kits", all.version, id);
    const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
    assert.deepEqual(
      sums.map((line) => line.slice(66)).filter((file) => !existsSync(join(folder, file))),
      [],
    );
  }
});

test("a release refuses a kit, an option or a version that there is not", () => {
  for (const args of [["cobol"], ["--force"], ["--set", "1.0"]]) {
    const { status, stderr } = spawnSync("scripts/release_kits.sh", args, { cwd: root, encoding: "utf8" });
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, /^release_kits: /);
  }
});
