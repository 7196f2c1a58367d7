import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { kitFolders } from "../../kits/conformance/suite.ts";
import { brief } from "../../src/documents/brief.ts";
import { kits as documented, kitsStatus } from "../../src/documents/kits.ts";
import { reference } from "../../src/playground/reference.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { all, kits, registryInstalls, runIn, testedKits } from "../support/kits/kit.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const members = [
  "name",
  "from",
  "about",
  "platform",
  "published",
  "local",
  "install",
  "address",
  "manifest",
  "example",
  "release",
  "checks",
];

test("every folder with a driver is a documented kit", () => {
  assert.deepEqual(kitFolders(), [...all.kits].sort());
  assert.deepEqual(documented.map(({ name }) => name), kits.map(({ name }) => name));
});

for (const kit of kits) {
  const within = (path: string) => read(`kits/${kit.id}/${path}`);

  test(`${kit.name} has a manifest, the licence and a README`, () => {
    assert.deepEqual(members.filter((name) => !(name in kit)), []);
    assert.equal(kit.name, `leads-${kit.id}`);
    assert.match(kit.address, /^pkg:[a-z]+\/\S+$/);
    assert.ok(existsSync(join(kit.folder, kit.manifest)));
    assert.equal(within("LICENSE"), read("LICENSE"));
    assert.match(within("README.md"), new RegExp(`^# ${kit.name}\n`));
  });
}

test("npm scope, Composer vendor and Go module paths are those of kits.json", () => {
  const { npm_scope, composer_vendor, go_path } = all.names;
  for (const id of ["node", "js"]) {
    assert.equal(JSON.parse(read(`kits/${id}/package.json`)).name, `@${npm_scope}/leads-${id}`);
  }
  assert.equal(JSON.parse(read("kits/php/composer.json")).name, `${composer_vendor}/leads-php`);
  for (const id of ["go", "cli"]) {
    assert.match(read(`kits/${id}/go.mod`), new RegExp(`^module ${go_path}/leads-${id}\n`));
  }
});

test("no page installs an unpublished kit from a registry, and its README says so", () => {
  const unpublished = documented.filter(({ published }) => !published).map(({ name }) => name);
  for (const { id, published } of kits) {
    const { install } = documented.find(({ name }) => name === `leads-${id}`) as typeof documented[number];
    const readme = read(`kits/${id}/README.md`);
    assert.ok(readme.includes(install), `kits/${id}/README.md has: ${install}`);
    assert.equal(/not published yet/i.test(readme), !published, `kits/${id}/README.md`);
  }
  const made = [brief("https://intake.example"), reference("https://intake.example").text];
  assert.deepEqual(made.flatMap((page) => registryInstalls(page, unpublished)), []);
  if (unpublished.length > 0) assert.match(kitsStatus, /not published yet/);
});

test("a release builds every kit's files and publishes only on request", async () => {
  const here = testedKits.filter(({ name }) => !isSkipped(`test/kits/: ${name}: release`));
  // leads-cli takes minutes for all platforms.
  const output = await runIn(root, `scripts/release_kits.sh ${here.map(({ id }) => id).join(" ")}`, {
    PLATFORMS: "linux/amd64 windows/arm64",
  });
  for (const { name, id } of here) {
    assert.match(output, new RegExp(`^${name} ${all.version}: \\S`, "m"));
    assert.match(output, new RegExp(`^would publish ${name}: \\S`, "m"));
    const folder = join(root, "build/kits", all.version, id);
    const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
    assert.deepEqual(
      sums.map((line) => line.slice(66)).filter((file) => !existsSync(join(folder, file))),
      [],
    );
  }
});
