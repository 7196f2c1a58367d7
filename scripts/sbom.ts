/**
 * `npm run sbom`: writes what the service consists of beside its own source, as CycloneDX, to `build/sbom.cdx.json`. The
 * same lock file makes the same bytes.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/** As much of the document as is changed here. */
interface Bom {
  serialNumber?: string;
  readonly metadata: {
    timestamp?: string;
    readonly component: { type: string; name: string };
  };
}

function makeBom(): Bom {
  // Of the lock file alone: what is installed here may be less, or a link.
  const args = ["sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only"];
  const { status, stdout, stderr, error } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm sbom: ${error?.message ?? stderr.trim()}`);
  return JSON.parse(stdout);
}

/** Takes out what differs from one run to the next, or by the name of the folder. */
function settle(bom: Bom): Bom {
  const { name } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  delete bom.metadata.timestamp;
  Object.assign(bom.metadata.component, { type: "application", name });
  delete bom.serialNumber;
  const digest = createHash("sha256").update(JSON.stringify(bom)).digest("hex");
  // As a UUID of version 8, which is a digest of one's own (RFC 9562).
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ];
  bom.serialNumber = `urn:uuid:${parts.join("-")}`;
  return bom;
}

const [file = `${root}build/sbom.cdx.json`] = process.argv.slice(2);
mkdirSync(`${root}build`, { recursive: true });
writeFileSync(file, `${JSON.stringify(settle(makeBom()), null, 2)}\n`);
console.log(file);
