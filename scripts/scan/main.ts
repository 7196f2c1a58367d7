/**
 * `npm run scan`, with `node` or `deno` and `ecdsa` or `rsa` after `--` for less: has Debian's testssl.sh look at the
 * service's public listener, and prints what it finds above its own level INFO.
 *
 * @module
 */

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "../../src/store/schema/migrate.ts";
import { buildFolder as benchFolder, run, say } from "../bench/programs.ts";
import { startService } from "../bench/service.ts";
import { thisTree } from "../bench/tree.ts";
import { type CertificateFiles, filesOf, replaceFiles } from "../../src/ctl/certificate_files.ts";
import { startPostgres } from "../embedded_postgres.ts";
import { createLogins } from "../login_roles.ts";
import { type CertificateOptions, issueCertificate } from "../../src/ctl/x509.ts";
import { explanation, type Finding, levels } from "./findings.ts";

type KeyType = NonNullable<CertificateOptions["keyType"]>;

const buildFolder = join(benchFolder, "../scan");

/** Minutes on a quiet machine, and longer beside other work. */
const timeoutMs = 60 * 60_000;

function makeCertificate(keyType: KeyType): CertificateFiles {
  const files = {
    certFile: join(buildFolder, `${keyType}.pem`),
    keyFile: join(buildFolder, `${keyType}.key`),
  };
  const names = ["localhost", "127.0.0.1"];
  replaceFiles(
    filesOf(files, issueCertificate({ name: "localhost", names, use: "server", days: 90, keyType })),
  );
  return files;
}

/** Scans one listener; returns how many of the findings are ours. */
async function scan(databaseUrl: string, options: {
  readonly runtime: "node" | "deno";
  readonly kind: KeyType;
}): Promise<number> {
  const { runtime, kind } = options;
  const name = `scan_${runtime}_${kind}`;
  const { certFile, keyFile } = makeCertificate(kind);
  const service = await startService({ tree: thisTree, options: { runtime, profile: false } }, {
    databaseUrl,
    name,
    env: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile },
  });
  const report = join(buildFolder, `${name}.json`);
  rmSync(report, { force: true });
  try {
    const target = `localhost:${new URL(service.urls.intake as string).port}/api`;
    await run("testssl", [
      ...["--quiet", "--color", "0", "--ip", "127.0.0.1", "--warnings", "off", "--jsonfile", report, target],
    ], { timeoutMs, env: { ...process.env, TERM: "dumb" } }).catch((error) => {
      // Its status counts what it has found, and the report says it better; without one it did not get far.
      if (!String(error).includes("ended with")) throw error;
    });
  } finally {
    await service.stop();
  }
  const findings = JSON.parse(readFileSync(report, "utf8")) as Finding[];
  const counts = levels.map((level) =>
    `${level} ${findings.filter(({ severity }) => severity === level).length}`
  );
  say(`\n${runtime}, ${kind}: ${findings.length} findings: ${counts.join(", ")}`);
  const told = findings.filter(({ severity }) => severity !== "OK" && severity !== "INFO");
  for (const finding of told) {
    const why = explanation(finding) ?? "OURS";
    say(`  ${finding.severity.padEnd(9)}${finding.id}: ${finding.finding} (${why})`);
  }
  return told.filter((finding) => explanation(finding) === null).length;
}

/** What is named of these, or all. */
function chosen<Name extends string>(names: readonly Name[]): Name[] {
  const named = names.filter((name) => process.argv.includes(name, 2));
  return named.length === 0 ? [...names] : named;
}

mkdirSync(buildFolder, { recursive: true });
mkdirSync(benchFolder, { recursive: true });
const server = await startPostgres();
try {
  await migrate(server.url);
  const { serviceUrl } = await createLogins(server.url);
  for (const runtime of chosen(["node", "deno"])) {
    for (const kind of chosen(["ecdsa", "rsa"])) {
      if (await scan(serviceUrl, { runtime, kind }) > 0) process.exitCode = 1;
    }
  }
} finally {
  await server.stop();
}
