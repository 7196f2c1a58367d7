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

test("files that cannot be read or used, or do not match, are refused at the start", async () => {
  assert.ok(one && two);
  const files = { certFile: one.certFile, keyFile: one.keyFile, caFile: authority.file };
  const { context } = await TlsFiles.load(files, "actions");
  assert.deepEqual(context, { cert: one.cert, key: one.key, ca: authority.pem, minVersion: "TLSv1.2" });
  const refused = (changed: Partial<typeof files>) => TlsFiles.load({ ...files, ...changed }, "actions");
  await assert.rejects(refused({ keyFile: two.keyFile }), /do not match/);
  await assert.rejects(refused({ caFile: "/nowhere" }), { code: "ENOENT" });
  await assert.rejects(refused({ caFile: one.keyFile }));
});

/** Watches copies of the files; `observed` receives each change. */
async function watched(t: TestContext) {
  assert.ok(one);
  const path = (name: string) => join(folder, name);
  const paths = { certFile: path("cert"), keyFile: path("key"), caFile: path("ca") };
  copyFileSync(one.certFile, paths.certFile);
  copyFileSync(one.keyFile, paths.keyFile);
  copyFileSync(authority.file, paths.caFile);
  const files = await TlsFiles.load(paths, "delivery");
  const observed: Exclude<TlsObservation, { kind: "certificate_in_use" }>[] = [];
  const ends: number[] = [];
  t.after(files.watch({
    everyMs: 2,
    observe(observation) {
      if (observation.kind === "certificate_in_use") ends.push(observation.expiresAtMs);
      else observed.push(observation);
    },
  }));
  return { paths, files, observed, ends };
}

test("a reported renewal is in use and tells whether the CA changed", async (t) => {
  const { paths, files, observed } = await watched(t);
  writeFileSync(paths.caFile, other.pem);
  await until(() => observed.at(-1)?.kind === "certificate_renewed");
  assert.deepEqual(observed.at(-1), { kind: "certificate_renewed", files: "delivery", isCaChanged: true });
  assert.equal(files.context.ca, other.pem);
  assert.ok(two);
  writeFileSync(paths.certFile, two.cert);
  writeFileSync(paths.keyFile, two.key);
  await until(() => files.context.cert === two.cert && observed.at(-1)?.kind === "certificate_renewed");
  assert.deepEqual(observed.at(-1), { kind: "certificate_renewed", files: "delivery", isCaChanged: false });
});

test("unusable files are reported once per change and do not replace those in use", async (t) => {
  const { paths, files, observed } = await watched(t);
  const aside = join(folder, "aside");
  const kinds = () => observed.map(({ kind }) => kind);
  for (const ca of [other.pem, authority.pem]) {
    const { length } = observed;
    const { context } = files;
    renameSync(paths.keyFile, aside);
    await until(() => observed.length > length);
    assert.equal(files.context, context);
    // Not loaded while the key is missing; then both are there at once.
    writeFileSync(paths.caFile, ca);
    renameSync(aside, paths.keyFile);
    await until(() => files.context.ca === ca);
  }
  const both = ["certificate_refused", "certificate_renewed"];
  assert.deepEqual(kinds(), [...both, ...both]);
});
