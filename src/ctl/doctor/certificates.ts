/**
 * The certificates that the settings name: whether they can be used, by whom, and for how long.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { dirname } from "node:path";
import { rootCertificates } from "node:tls";
import { namesOf } from "../certificates.ts";
import { type Check, failure, type Finding, ok, type Situation, warning } from "./check.ts";
import { publicSurfaces } from "#src/settings/surface_names.ts";

/**
 * The certificates of a file, in their order.
 *
 * @throws {Error} when it cannot be read, or has none
 */
function readAll(file: string): X509Certificate[] {
  const blocks = readFileSync(file, "utf8").match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  );
  if (blocks === null) throw new Error("no certificate is in it");
  return blocks.map((pem) => new X509Certificate(pem));
}

/** Whether the one has signed the other. */
function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

let roots: X509Certificate[] | undefined;
/** The authorities that clients come with, as Node does. */
function publicRoots(): readonly X509Certificate[] {
  return roots ??= rootCertificates.map((pem) => new X509Certificate(pem));
}

/** Why a file cannot be used, in a word or a line. */
function reason(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code === undefined || code.startsWith("ERR_OSSL") ? message.split("\n")[0] ?? "" : code;
}

// Three weeks, because somebody may be away for two.
const warnBeforeMs = 21 * 86_400_000;

/** One end of TLS. */
interface End {
  readonly certName: string;
  readonly keyName: string;
  /** The variable with the authorities of those that the end shows its certificate to, and where it may be. */
  readonly trustedBy: string | null;
  /** The variable with the authorities that the end itself trusts. */
  readonly trusts: string | null;
  readonly use: "server" | "client";
  readonly names: (situation: Situation) => readonly { readonly name: string; readonly from: string }[];
  readonly mend: (certFile: string) => string;
}

const renewal = (certFile: string) => `ctl certificates ${dirname(certFile)} --renew`;

const ends: readonly End[] = [
  {
    certName: "TLS_CERT_FILE",
    keyName: "TLS_KEY_FILE",
    trustedBy: null,
    trusts: null,
    use: "server",
    names: ({ environment }) =>
      publicSurfaces.flatMap((surface) => {
        const from = `${surface.toUpperCase()}_URL`;
        const url = environment[from]?.trim() ?? "";
        return url.startsWith("https:") && URL.canParse(url) ? [{ name: new URL(url).hostname, from }] : [];
      }),
    mend: () =>
      "renew it where it was issued (such as: certbot renew); the service takes up the new files by itself",
  },
  {
    certName: "ACTIONS_CLIENT_CERT_FILE",
    keyName: "ACTIONS_CLIENT_KEY_FILE",
    trustedBy: "ACTIONS_CLIENT_CA_FILE",
    trusts: "ACTIONS_CA_FILE",
    use: "client",
    names: ({ actions }) => {
      const name = actions?.config.clientName ?? null;
      return name === null ? [] : [{ name, from: "ACTIONS_CLIENT_NAME" }];
    },
    mend: renewal,
  },
  {
    certName: "ACTIONS_SERVER_CERT_FILE",
    keyName: "ACTIONS_SERVER_KEY_FILE",
    trustedBy: "ACTIONS_CA_FILE",
    trusts: "ACTIONS_CLIENT_CA_FILE",
    use: "server",
    names: ({ environment: { ACTIONS_URL: url = "" } }) =>
      URL.canParse(url)
        ? [{ name: new URL(url).hostname.replace(/^\[(.*)\]$/, "$1"), from: "ACTIONS_URL" }]
        : [],
    mend: renewal,
  },
];

const uses = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

function findingsOf(situation: Situation, end: End): Finding[] {
  const file = situation.environment[end.certName]?.trim() ?? "";
  if (file === "") return [];
  const say = (text: string) => `${end.certName} ${text}`;
  let chain: X509Certificate[];
  try {
    chain = readAll(file);
  } catch (error) {
    return [failure(say(`cannot be used: ${reason(error)}`), `${end.certName} names it: ${file}`)];
  }
  const [leaf] = chain as [X509Certificate];
  const found = [
    ...validity(chain, { say, nowMs: situation.nowMs, mend: end.mend(file) }),
    ...keyFindings(leaf, situation, end),
    ...nameFindings(leaf, situation, end),
    ...chainFindings(chain, situation, end),
  ];
  if (leaf.keyUsage !== undefined && !leaf.keyUsage.includes(uses[end.use])) {
    found.push(failure(say(`is not for a TLS ${end.use}`), end.mend(file)));
  }
  const names = namesOf(leaf).join(", ") || leaf.subject.replaceAll("\n", ", ");
  return found.some(({ state }) => state !== "ok")
    ? found
    : [ok(say(`is good until ${leaf.validTo} (${names})`))];
}

function validity(
  chain: readonly X509Certificate[],
  { say, nowMs, mend }: {
    readonly say: (text: string) => string;
    readonly nowMs: number;
    readonly mend: string;
  },
): Finding[] {
  return chain.flatMap((certificate, index) => {
    const of = index === 0 ? "" : `: its issuer ${certificate.subject.replaceAll("\n", ", ")}`;
    const endMs = Date.parse(certificate.validTo);
    if (endMs <= nowMs) return [failure(say(`has expired, ${certificate.validTo}${of}`), mend)];
    if (Date.parse(certificate.validFrom) > nowMs) {
      return [
        failure(
          say(`is not valid before ${certificate.validFrom}${of}`),
          "timedatectl; or have it issued again",
        ),
      ];
    }
    if (endMs - nowMs > warnBeforeMs) return [];
    const days = Math.floor((endMs - nowMs) / 86_400_000);
    return [
      warning(say(`expires in ${days} ${days === 1 ? "day" : "days"}, ${certificate.validTo}${of}`), mend),
    ];
  });
}

function keyFindings(
  leaf: X509Certificate,
  { environment }: Situation,
  { keyName, certName }: End,
): Finding[] {
  const file = environment[keyName]?.trim() ?? "";
  if (file === "") return [failure(`${keyName} is not set, and ${certName} is`, `set ${keyName}`)];
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(readFileSync(file)))) {
      return [failure(`${keyName} is not the key of ${certName}`, `${keyName} names it: ${file}`)];
    }
  } catch (error) {
    return [failure(`${keyName} cannot be used: ${reason(error)}`, `${keyName} names it: ${file}`)];
  }
  const isOpen = (statSync(file).mode & 0o004) !== 0;
  return isOpen ? [warning(`everybody on this machine can read ${keyName}`, `chmod 600 ${file}`)] : [];
}

function nameFindings(leaf: X509Certificate, situation: Situation, { certName, names, use }: End): Finding[] {
  const covers = (name: string) =>
    use === "client"
      ? [...namesOf(leaf), ...(leaf.subject.match(/(?<=^CN=).*$/gm) ?? [])].includes(name)
      : isIP(name) === 0
      ? leaf.checkHost(name) !== undefined
      : leaf.checkIP(name) !== undefined;
  return names(situation).filter(({ name }) => !covers(name)).map(({ name, from }) =>
    failure(
      `${certName} is not for ${name}, which ${from} has`,
      `a certificate with that name, or another ${from}`,
    )
  );
}

function chainFindings(chain: readonly X509Certificate[], situation: Situation, end: End): Finding[] {
  const broken = chain.slice(1).findIndex((issuer, index) =>
    !isSignedBy(chain[index] as X509Certificate, issuer)
  );
  if (broken !== -1) {
    return [
      failure(
        `${end.certName} has certificates that do not follow from one another`,
        "the certificate first, then who issued it",
      ),
    ];
  }
  const last = chain.at(-1) as X509Certificate;
  if (end.trustedBy === null) {
    const isWhole = isSignedBy(last, last) || publicRoots().some((root) => isSignedBy(last, root));
    return isWhole ? [] : [
      warning(
        `${end.certName} ends at an issuer that clients may not know (${last.issuer.replaceAll("\n", ", ")})`,
        "use the file with the whole chain (such as fullchain.pem)",
      ),
    ];
  }
  const found: Finding[] = [];
  const file = situation.environment[end.trustedBy]?.trim() ?? "";
  if (file !== "") {
    try {
      if (!readAll(file).some((authority) => isSignedBy(last, authority))) {
        found.push(
          failure(
            `${end.certName} was not signed by the authority in ${end.trustedBy}`,
            end.mend(situation.environment[end.certName] ?? ""),
          ),
        );
      }
    } catch (error) {
      found.push(
        failure(`${end.trustedBy} cannot be used: ${reason(error)}`, `${end.trustedBy} names it: ${file}`),
      );
    }
  }
  return found;
}

/** The authorities have ends of their own. */
function authorityFindings(situation: Situation): Finding[] {
  return ["ACTIONS_CA_FILE", "ACTIONS_CLIENT_CA_FILE"].flatMap((name) => {
    const file = situation.environment[name]?.trim() ?? "";
    if (file === "") return [];
    const say = (text: string) => `${name} ${text}`;
    const mend = "ctl certificates DIR, in an empty folder; then both processes' settings";
    try {
      const authorities = readAll(file);
      const found = authorities.flatMap((authority) =>
        validity([authority], { say, nowMs: situation.nowMs, mend })
      );
      return found.length > 0 ? found : [ok(say(`is good until ${authorities[0]?.validTo}`))];
    } catch (error) {
      return [failure(say(`cannot be used: ${reason(error)}`), `${name} names it: ${file}`)];
    }
  });
}

/** The check. */
export const certificateChecks: readonly Check[] = [{
  name: "Certificates",
  run: (situation) => {
    const found = [...ends.flatMap((end) => findingsOf(situation, end)), ...authorityFindings(situation)];
    return Promise.resolve(found.length > 0 ? found : [ok("the settings name none")]);
  },
}];
