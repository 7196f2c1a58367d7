/** Defines `ctl certificates`. */

import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { dirname, join, resolve } from "node:path";
import {
  type CertificateFiles,
  filesOf,
  type Leaf,
  leaves,
  readPair,
  replaceFiles,
} from "./certificate_files.ts";
import { type Command, type Input, needsNoStore, Refused, type Reply, UsageError } from "./command.ts";
import { record, shortTime } from "./terminal.ts";
import { type Credentials, issueCertificate } from "./x509.ts";

// Chosen: ten years for the authority, because replacing it stops delivery until both ends trust the new one; one year for
// the certificates it signs, which are replaced while both processes run.
const authorityDays = 3_650;
const leafDays = 365;
const dayMs = 86_400_000;

/** The default host names and addresses in the certificates. */
const namesDefault: Readonly<Record<Leaf, readonly string[]>> = {
  server: ["localhost", "127.0.0.1", "::1"],
  client: ["lead-intake"],
};

/** The paths of the folder and of the authority's certificate and key. */
interface Paths {
  readonly folder: string;
  readonly caFile: string;
  readonly caKeyFile: string;
}

function leafFiles({ folder }: Paths, leaf: Leaf): CertificateFiles {
  return { certFile: join(folder, `${leaf}.pem`), keyFile: join(folder, `${leaf}.key`) };
}

function certificateNames(certificate: X509Certificate): string[] {
  const names = [...(certificate.subjectAltName ?? "").matchAll(/(?:^|, )(?:DNS|IP Address):([^,]+)/g)];
  return names.map(([, name = ""]) => name);
}

/**
 * Creates the authority and both certificates. If `serverNames` is `null`, the server's has the default names.
 *
 * @throws {Refused} if one of the files exists
 */
function create(paths: Paths, serverNames: readonly string[] | null): void {
  const { folder, caFile, caKeyFile } = paths;
  const files = [caFile, caKeyFile, ...leaves.flatMap((leaf) => Object.values(leafFiles(paths, leaf)))];
  const existing = files.find((file) => existsSync(file));
  if (existing !== undefined) {
    throw new Refused(
      `${existing} already exists and was not changed; --renew replaces the certificates that the authority signed`,
    );
  }
  // The accounts of both processes read the folder; each key is readable only by its owner.
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(caKeyFile), { recursive: true, mode: 0o700 });
  const authority = issueCertificate({
    name: "Lead Intake private CA",
    use: "authority",
    days: authorityDays,
  });
  replaceFiles([
    ...filesOf({ certFile: caFile, keyFile: caKeyFile }, authority),
    ...issueLeaf(paths, "server", serverNames ?? namesDefault.server, leafDays, authority),
    ...issueLeaf(paths, "client", namesDefault.client, leafDays, authority),
  ]);
}

/**
 * Reissues both certificates. If `serverNames` is `null`, the server's keeps its names. The authority does not change, so
 * the two ends may load their new files in any order.
 *
 * @throws {Refused} if the authority or its key is missing, or the authority has less than a day left
 */
function renew(paths: Paths, serverNames: readonly string[] | null): void {
  const { caFile, caKeyFile } = paths;
  for (const file of [caFile, caKeyFile]) {
    if (!existsSync(file)) {
      throw new Refused(
        `${file} does not exist, and a renewal needs it; if the authority's key is stored elsewhere, pass --ca-key FILE`,
      );
    }
  }
  const ca = readPair({ certFile: caFile, keyFile: caKeyFile });
  if (ca === null || !ca.isKeyMatching) {
    throw new Refused(`${caKeyFile} is not the key for ${caFile}, or one of them is invalid`);
  }
  const leftDays = Math.floor((Date.parse(ca.certificate.validTo) - Date.now()) / dayMs);
  if (leftDays < 1) {
    throw new Refused(
      `The authority ${caFile} has expired or expires within a day; create a new one in an empty folder, for both processes`,
    );
  }
  replaceFiles(leaves.flatMap((leaf) => {
    const before = readPair(leafFiles(paths, leaf));
    const previous = before === null ? namesDefault[leaf] : certificateNames(before.certificate);
    const names = leaf === "server" ? serverNames ?? previous : previous;
    // A certificate must not outlive the authority.
    return issueLeaf(paths, leaf, names, Math.min(leafDays, leftDays), ca);
  }));
}

function issueLeaf(paths: Paths, leaf: Leaf, names: readonly string[], days: number, issuer: Credentials) {
  const credentials = issueCertificate({ name: names[0] ?? leaf, names, use: leaf, days, issuer });
  return filesOf(leafFiles(paths, leaf), credentials);
}

function parsePaths(input: Input): Paths {
  const folder = resolve(input.first);
  return {
    folder,
    caFile: join(folder, "ca.pem"),
    caKeyFile: resolve(input.option("ca-key") ?? join(folder, "authority", "ca.key")),
  };
}

/** Parses comma-separated DNS names and IP addresses. */
function parseServerNames(text: string): string[] {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const shape = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
  const invalid = names.find((name) => isIP(name) === 0 && !shape.test(name));
  if (names.length === 0 || invalid !== undefined) {
    throw new UsageError(`--server-name must be names such as actions.internal, or addresses: ${text}`);
  }
  // Source: RFC 5280, ub-common-name.
  if ((names[0] as string).length > 64) {
    throw new UsageError("--server-name: the first name is longer than 64 characters");
  }
  return names;
}

/** Returns the settings with which both processes use the certificates. */
function processSettings(paths: Paths, server: readonly string[], client: readonly string[]) {
  const host = server.find((name) => isIP(name) === 0) ?? server[0] ?? "localhost";
  const [serverFiles, clientFiles] = [leafFiles(paths, "server"), leafFiles(paths, "client")];
  return {
    actions: {
      ACTIONS_SERVER_CERT_FILE: serverFiles.certFile,
      ACTIONS_SERVER_KEY_FILE: serverFiles.keyFile,
      ACTIONS_CLIENT_CA_FILE: paths.caFile,
      ACTIONS_CLIENT_NAME: client[0] ?? "",
    },
    service: {
      ACTIONS_URL: `https://${isIP(host) === 6 ? `[${host}]` : host}:9443`,
      ACTIONS_CA_FILE: paths.caFile,
      ACTIONS_CLIENT_CERT_FILE: clientFiles.certFile,
      ACTIONS_CLIENT_KEY_FILE: clientFiles.keyFile,
    },
  };
}

function certificatesReply(paths: Paths, isRenewal: boolean): Reply {
  const read = (file: string) => {
    const certificate = new X509Certificate(readFileSync(file));
    return {
      file,
      names: certificateNames(certificate),
      expires_at: new Date(certificate.validTo).toISOString(),
    };
  };
  const ca = read(paths.caFile);
  const readLeaf = (leaf: Leaf) => read(leafFiles(paths, leaf).certFile);
  const [server, client] = [readLeaf("server"), readLeaf("client")];
  const settings = processSettings(paths, server.names, client.names);
  const lines = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => `${name}=${value}`).join("\n");
  const until = ({ file, expires_at: at }: typeof ca) => `${file}, until ${shortTime(at)} UTC`;
  const summary = record([
    ["Authority", until(ca)],
    ["Server", `${until(server)}, for ${server.names.join(", ")}`],
    ["Client", `${until(client)}, for ${client.names.join(", ")}`],
  ]);
  const renewedText = `Running processes load the new files within seconds and log certificate_renewed.`;
  const createdText = `For the actions process, such as /etc/lead-intake/actions.env:
${lines(settings.actions)}

For the service, such as /etc/lead-intake/intake.env:
${lines(settings.service)}

Only one process may read each key. With the accounts of scripts/systemd/:
chown lead-actions ${settings.actions.ACTIONS_SERVER_KEY_FILE}
chown lead-intake ${settings.service.ACTIONS_CLIENT_KEY_FILE}

No process needs the authority's key, ${paths.caKeyFile}: anyone who has it can impersonate either end.
Keep it off this machine. You need it again for ctl certificates ${paths.folder} --renew --ca-key FILE.`;
  return {
    json: {
      folder: paths.folder,
      renewed: isRenewal,
      ca: { file: ca.file, key_file: paths.caKeyFile, expires_at: ca.expires_at },
      server,
      client,
      settings,
    },
    text: `${summary}\n\n${isRenewal ? renewedText : createdText}`,
  };
}

const certificates: Command = {
  words: "certificates",
  positionals: ["DIR"],
  options: {
    "server-name": {
      value: "NAME,…",
      description: `host names and addresses of the actions process; default ${
        namesDefault.server.join(",")
      }`,
    },
    "ca-key": { value: "FILE", description: "the authority's key; default DIR/authority/ca.key" },
    renew: { description: "issue new certificates and keys from the same authority, with the same names" },
  },
  summary: "Create or renew the certificates of the service and the actions process",
  notes: `Creates a private authority and one certificate each for the actions process and the service, and
prints the settings for both. Nothing is overwritten without --renew, which keeps the authority, and
the files' owners and modes. The certificates are valid for a year; ctl doctor warns before they expire.`,
  prepare: needsNoStore,
  prepareWithoutStore(input) {
    const paths = parsePaths(input);
    const text = input.option("server-name");
    const serverNames = text === undefined ? null : parseServerNames(text);
    const isRenewal = input.has("renew");
    return () => {
      try {
        if (isRenewal) renew(paths, serverNames);
        else create(paths, serverNames);
        return Promise.resolve(certificatesReply(paths, isRenewal));
      } catch (error) {
        if (error instanceof Refused) throw error;
        throw new Refused(`The certificates could not be issued: ${(error as Error).message}`, {
          cause: error,
        });
      }
    };
  },
};

export const certificatesCommands: readonly Command[] = [certificates];
