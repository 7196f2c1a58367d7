import assert from "node:assert/strict";
import { copyFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { TlsFiles, type TlsObservation } from "../../src/http/tls_files.ts";
import { Authority } from "../support/authority.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/folder.ts";

const authority = new Authority();
const other = new Authority("other authority");
const [one, two] = ["one", "two"].map((name) => authority.issue({ name, use: "server" }));
const folder = temporaryFolder("tls-files");

test("files that cannot be read or used, or do not belong together, are refused at the start", async () => {
  assert.ok(one && two);
  const files = { certFile: one.certFile, keyFile: one.keyFile, caFile: authority.file };
  const { context } = await TlsFiles.load(files, "actions");
  assert.deepEqual(context, { cert: one.cert, key: one.key, ca: authority.pem, minVersion: "TLSv1.2" });
  const refused = (changed: Partial<typeof files>) => TlsFiles.load({ ...files, ...changed }, "actions");
  await assert.rejects(refused({ keyFile: two.keyFile }), /belong together/);
  await assert.rejects(refused({ caFile: "/nowhere" }), { code: "ENOENT" });
  await assert.rejects(refused({ caFile: one.keyFile }));
});

/** Copies that are watched; each change is waited for with `told`. */
async function watched(t: TestContext) {
  assert.ok(one);
  const path = (name: string) => join(folder, name);
  const paths = { certFile: path("cert"), keyFile: path("key"), caFile: path("ca") };
  copyFileSync(one.certFile, paths.certFile);
  copyFileSync(one.keyFile, paths.keyFile);
  copyFileSync(authority.file, paths.caFile);
  const files = await TlsFiles.load(paths, "delivery");
  const told: Exclude<TlsObservation, { kind: "certificate_in_use" }>[] = [];
  const ends: number[] = [];
  t.after(files.watch({
    everyMs: 2,
    observe(observation) {
      if (observation.kind === "certificate_in_use") ends.push(observation.endsAtMs);
      else told.push(observation);
    },
  }));
  return { paths, files, told, ends };
}

test("a renewal is in use when it is told, and says whether the authorities are new", async (t) => {
  const { paths, files, told } = await watched(t);
  writeFileSync(paths.caFile, other.pem);
  await until(() => told.at(-1)?.kind === "certificate_renewed");
  assert.deepEqual(told.at(-1), { kind: "certificate_renewed", files: "delivery", isCaNew: true });
  assert.equal(files.context.ca, other.pem);
  assert.ok(two);
  writeFileSync(paths.certFile, two.cert);
  writeFileSync(paths.keyFile, two.key);
  await until(() => files.context.cert === two.cert && told.at(-1)?.kind === "certificate_renewed");
  assert.deepEqual(told.at(-1), { kind: "certificate_renewed", files: "delivery", isCaNew: false });
});

test("what cannot be used is told once for each change, and leaves in use what was there before", async (t) => {
  const { paths, files, told } = await watched(t);
  const aside = join(folder, "aside");
  const kinds = () => told.map(({ kind }) => kind);
  for (const ca of [other.pem, authority.pem]) {
    const { length } = told;
    const { context } = files;
    renameSync(paths.keyFile, aside);
    await until(() => told.length > length);
    assert.equal(files.context, context);
    // Unseen as long as the key is away; then both are there at once.
    writeFileSync(paths.caFile, ca);
    renameSync(aside, paths.keyFile);
    await until(() => files.context.ca === ca);
  }
  const both = ["certificate_refused", "certificate_renewed"];
  assert.deepEqual(kinds(), [...both, ...both]);
});
