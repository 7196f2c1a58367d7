import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = temporaryFolder();

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

function makeBom(name: string): string {
  const file = join(folder, name);
  execFileSync(process.execPath, [join(root, "scripts/sbom.ts"), file], { cwd: root, stdio: "pipe" });
  return readFileSync(file, "utf8");
}

const text = makeBom("first.json");
const bom = JSON.parse(text);
const lock: Record<string, { version: string; dev?: boolean; license?: string; integrity: string }> =
  JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  ).packages;
const production = Object.entries(lock).filter(([path, { dev }]) => path !== "" && dev !== true);

test("the bill of materials is a CycloneDX document of this application and version", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.deepEqual([bom.bomFormat, bom.specVersion, bom.version], ["CycloneDX", "1.5", 1]);
  assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  const { component } = bom.metadata;
  assert.deepEqual([component.type, component.name, component.version], [
    "application",
    "lead-intake-service",
    version,
  ]);
});

test("it has every package of production with its version, address, licence and digest, and none of development", () => {
  assert.ok(production.length >= 4);
  const listed = (bom.components as Component[]).map(({ name, version, purl, licenses, hashes }) => ({
    name,
    version,
    purl,
    license: licenses.map(({ license }) => license.id).join(),
    hashes: hashes.map(({ alg, content }) => `${alg} ${content}`),
  }));
  const expected = production.map(([path, { version, license, integrity }]) => {
    const name = path.replace(/^.*node_modules\//, "");
    const digest = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
    return { name, version, purl: `pkg:npm/${name}@${version}`, license, hashes: [`SHA-512 ${digest}`] };
  });
  assert.deepEqual(listed, expected);
});

test("it says which package needs which, and each of them is in it", () => {
  const known = new Set([bom.metadata.component, ...bom.components].map((one) => one["bom-ref"]));
  for (const { ref, dependsOn } of bom.dependencies) {
    assert.deepEqual([ref, ...dependsOn].filter((name: string) => !known.has(name)), []);
  }
});

test("made twice it is the same, and nothing of the machine is in it", () => {
  assert.equal(makeBom("second.json"), text);
  assert.ok(!text.includes(folder) && !text.includes(root));
});
