import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chainOf, isExpired, TlsFiles, type TlsObservation } from "../../src/http/tls_files.ts";
import { temporaryFolder } from "../support/folder.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const path = (name: string) => join(folder, name);

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
}

/** Makes a certificate and its key; without an issuer it signs itself. */
function issue(name: string, options: { days: number; issuer?: string; extension?: string }): string {
  const { days, issuer, extension } = options;
  writeFileSync(path("extensions"), extension ?? "");
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${name}.key`);
  openssl("req", "-new", "-key", `${name}.key`, "-subj", `/CN=${name}`, "-out", `${name}.csr`);
  const signer = issuer === undefined
    ? ["-signkey", `${name}.key`]
    : ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial"];
  openssl(
    ...["x509", "-req", "-in", `${name}.csr`, "-out", `${name}.pem`, "-days", String(days)],
    ...["-extfile", "extensions", ...signer],
  );
  return readFileSync(path(`${name}.pem`), "utf8");
}

issue("root", { days: 3_650, extension: "basicConstraints=critical,CA:TRUE" });
issue("between", { days: 1_000, issuer: "root", extension: "basicConstraints=critical,CA:TRUE" });
issue("owner", {
  days: 90,
  issuer: "between",
  extension: "authorityInfoAccess=caIssuers;URI:http://authority.example/between.der",
});
issue("own", { days: 90 });

test("what is doubtful is told when the files are taken up; a renewal that has expired is refused, and told once", async (t) => {
  const files = { certFile: path("served.pem"), keyFile: path("served.key") };
  const put = (name: string) => {
    for (const kind of ["key", "pem"]) {
      writeFileSync(path(`served.${kind}`), readFileSync(path(`${name}.${kind}`)));
    }
  };
  put("owner");
  const told: TlsObservation[] = [];
  const kinds = () => told.flatMap((one) => one.kind === "certificate_in_use" ? [] : [one.kind]);
  const served = await TlsFiles.load(files, "listener");
  t.after(served.watch({ everyMs: 2, observe: (observation) => told.push(observation) }));
  assert.deepEqual(kinds(), ["certificate_doubtful"]);
  const [first] = told;
  assert.ok(first?.kind === "certificate_doubtful");
  assert.deepEqual([first.files, first.doubt], ["listener", "chain_incomplete"]);

  put("own");
  await until(() => kinds().at(-1) === "certificate_renewed");
  const { length } = told;
  issue("over", { days: 0 });
  // A certificate of no days is over in the second after it was made.
  await until(() => isExpired(chainOf(readFileSync(path("over.pem"), "utf8")), Date.now()));
  put("over");
  await until(() =>
    told.slice(length).some((one) =>
      one.kind === "certificate_refused" && /has expired/.test(String(one.error))
    )
  );
  assert.equal(chainOf(served.context.cert)[0]?.subject, "CN=own");
});
