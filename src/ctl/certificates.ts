/** `ctl certificates` */

import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { dirname, join, resolve } from "node:path";
import { filesOf, type Leaf, leaves, readPair, replaceFiles } from "./certificate_files.ts";
import { type Command, type Input, needsNoStore, Refused, type Reply, WrongUsage } from "./command.ts";
import { record, shortTime } from "./terminal.ts";
import { parseCount } from "./values.ts";
import { type Credentials, issueCertificate } from "./x509.ts";

// Chosen: ten years for the authority, because changing it stops delivery until both ends trust the new one, and one
// for what it signs, because those are replaced while both processes run.
const authorityDays = 3_650;
const dayMs = 86_400_000;

/** Names in the certificates for whom none are given. */
const namesDefault: Readonly<Record<Leaf, readonly string[]>> = {
  server: ["localhost", "127.0.0.1", "::1"],
  client: ["lead-intake"],
};

/** Where everything is. */
interface Place {
  readonly folder: string;
  readonly caFile: string;
  readonly caKeyFile: string;
}

/** The certificate of one end. */
function certFile({ folder }: Place, leaf: Leaf): string {
  return join(folder, `${leaf}.pem`);
}

/** Its key. */
function keyFile({ folder }: Place, leaf: Leaf): string {
  return join(folder, `${leaf}.key`);
}

/** The names of a certificate, DNS names and addresses. */
export function namesOf(certificate: X509Certificate): string[] {
  const names = [...(certificate.subjectAltName ?? "").matchAll(/(?:^|, )(?:DNS|IP Address):([^,]+)/g)];
  return names.map(([, name = ""]) => name);
}

/** What is asked for. */
interface Wanted {
  readonly place: Place;
  readonly days: number;
  /** Left out: as before, or the default. */
  readonly names: Readonly<Partial<Record<Leaf, readonly string[]>>>;
}

/**
 * Makes the authority and both certificates.
 *
 * @throws {Refused} when one of the files is there
 */
function create({ place, days, names }: Wanted): void {
  const { folder, caFile, caKeyFile } = place;
  const files = [
    caFile,
    caKeyFile,
    ...leaves.flatMap((leaf) => [certFile(place, leaf), keyFile(place, leaf)]),
  ];
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) {
    throw new Refused(
      `${found} is there already and stays as it is; --renew replaces what the authority has signed`,
    );
  }
  // Both processes' accounts read here; each key is its own account's.
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(caKeyFile), { recursive: true, mode: 0o700 });
  const authority = issueCertificate({
    name: "Lead Intake private CA",
    use: "authority",
    days: authorityDays,
  });
  replaceFiles([
    ...filesOf({ certFile: caFile, keyFile: caKeyFile }, authority),
    ...leaves.flatMap((leaf) => issueLeaf(place, leaf, names[leaf] ?? namesDefault[leaf], days, authority)),
  ]);
}

/**
 * Makes both certificates anew. The authority stays, so each end goes on trusting the other, whichever reads its new files
 * first.
 *
 * @throws {Refused} without the authority and its key
 */
function renew({ place, days, names }: Wanted): void {
  const { caFile, caKeyFile } = place;
  for (const file of [caFile, caKeyFile]) {
    if (!existsSync(file)) {
      throw new Refused(
        `${file} is not there, and a renewal needs it; --ca-key FILE names the authority's key where it is kept`,
      );
    }
  }
  const ca = readPair({ certFile: caFile, keyFile: caKeyFile });
  if (ca === null || !ca.fitsKey) throw new Refused(`${caKeyFile} is not the key of ${caFile}`);
  const leftDays = Math.floor((Date.parse(ca.certificate.validTo) - Date.now()) / dayMs);
  if (leftDays < 1) {
    throw new Refused(
      `The authority ${caFile} has expired; make another one in an empty folder, for both processes`,
    );
  }
  replaceFiles(leaves.flatMap((leaf) => {
    const before = readPair({ certFile: certFile(place, leaf), keyFile: keyFile(place, leaf) });
    const kept = before === null ? namesDefault[leaf] : namesOf(before.certificate);
    // A certificate must not outlive its authority's.
    return issueLeaf(place, leaf, names[leaf] ?? kept, Math.min(days, leftDays), ca);
  }));
}

function issueLeaf(place: Place, leaf: Leaf, names: readonly string[], days: number, issuer: Credentials) {
  const files = { certFile: certFile(place, leaf), keyFile: keyFile(place, leaf) };
  return filesOf(files, issueCertificate({ name: names[0] ?? leaf, names, use: leaf, days, issuer }));
}

const leafDaysDefault = 365;
const leafDaysMax = 3_650;

function placeOf(input: Input): Place {
  const folder = resolve(input.first);
  return {
    folder,
    caFile: join(folder, "ca.pem"),
    caKeyFile: resolve(input.option("ca-key") ?? join(folder, "authority", "ca.key")),
  };
}

/** DNS names and addresses, with commas between them. */
function parseNames(text: string, option: string): string[] {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const shape = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
  const wrong = names.find((name) => isIP(name) === 0 && !shape.test(name));
  if (names.length === 0 || wrong !== undefined) {
    throw new WrongUsage(`--${option} must be names such as actions.internal or addresses: ${text}`);
  }
  // RFC 5280, ub-common-name.
  if ((names[0] as string).length > 64) {
    throw new WrongUsage(`--${option} begins with a name over 64 characters`);
  }
  return names;
}

/** The lines for the settings files of both processes. */
function settingsOf(place: Place, server: readonly string[], client: readonly string[]) {
  const host = server.find((name) => isIP(name) === 0) ?? server[0] ?? "localhost";
  return {
    actions: {
      ACTIONS_SERVER_CERT_FILE: certFile(place, "server"),
      ACTIONS_SERVER_KEY_FILE: keyFile(place, "server"),
      ACTIONS_CLIENT_CA_FILE: place.caFile,
      ACTIONS_CLIENT_NAME: client[0] ?? "",
    },
    service: {
      ACTIONS_URL: `https://${isIP(host) === 6 ? `[${host}]` : host}:9443`,
      ACTIONS_CA_FILE: place.caFile,
      ACTIONS_CLIENT_CERT_FILE: certFile(place, "client"),
      ACTIONS_CLIENT_KEY_FILE: keyFile(place, "client"),
    },
  };
}

function replyOf(place: Place, isRenewal: boolean): Reply {
  const read = (file: string) => {
    const certificate = new X509Certificate(readFileSync(file));
    return { file, names: namesOf(certificate), expires_at: new Date(certificate.validTo).toISOString() };
  };
  const ca = read(place.caFile);
  const [server, client] = [read(certFile(place, "server")), read(certFile(place, "client"))] as const;
  const settings = settingsOf(place, server.names, client.names);
  const lines = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => `${name}=${value}`).join("\n");
  const until = ({ file, expires_at: at }: typeof ca) => `${file}, until ${shortTime(at)} UTC`;
  const made = record([
    ["Authority", until(ca)],
    ["Server", `${until(server)}, for ${server.names.join(", ")}`],
    ["Client", `${until(client)}, for ${client.names.join(", ")}`],
  ]);
  const renewed =
    `Running processes take up the new files within seconds; their log says certificate_renewed.`;
  const madeNew = `For the actions process, such as /etc/lead-intake/actions.env:
${lines(settings.actions)}

For the service, such as /etc/lead-intake/intake.env:
${lines(settings.service)}

Each key is for one process alone. With the accounts of scripts/systemd/:
chown lead-actions ${keyFile(place, "server")}
chown lead-intake ${keyFile(place, "client")}

The authority's key, ${place.caKeyFile}, is for no process: anyone who has it can impersonate either end.
Keep it off this machine; ctl certificates ${place.folder} --renew --ca-key FILE needs it again.`;
  return {
    json: {
      folder: place.folder,
      renewed: isRenewal,
      ca: { file: ca.file, key_file: place.caKeyFile, expires_at: ca.expires_at },
      server,
      client,
      settings,
    },
    text: `${made}\n\n${isRenewal ? renewed : madeNew}`,
  };
}

const certificates: Command = {
  words: "certificates",
  positionals: ["DIR"],
  options: {
    "server-name": {
      value: "NAME,…",
      description: `by what the service reaches the actions process; ${
        namesDefault.server.join(",")
      } when left out`,
    },
    "client-name": {
      value: "NAME",
      description: `for ACTIONS_CLIENT_NAME; ${namesDefault.client[0]} when left out`,
    },
    days: { value: "N", description: `how long the two are good; ${leafDaysDefault} when left out` },
    "ca-key": { value: "FILE", description: "the authority's key; DIR/authority/ca.key when left out" },
    renew: { description: "new certificates and keys by the same authority, with the names that they had" },
  },
  summary: "Make the certificates between the service and the actions process, or renew them",
  notes: `Makes a private authority, a certificate of the actions process and one of the service,
and prints the settings for both. Nothing is overwritten without --renew, which
keeps the authority, the owners and modes of the files. ctl doctor says when it is time.`,
  prepare: needsNoStore,
  prepareAlone(input) {
    const place = placeOf(input);
    const text = (option: string) => input.option(option);
    const [server, client] = [text("server-name"), text("client-name")];
    const wanted: Wanted = {
      place,
      days: parseCount(text("days") ?? String(leafDaysDefault), "--days", leafDaysMax),
      names: {
        ...(server === undefined ? {} : { server: parseNames(server, "server-name") }),
        ...(client === undefined ? {} : { client: parseNames(client, "client-name") }),
      },
    };
    const isRenewal = input.has("renew");
    return () => {
      try {
        if (isRenewal) renew(wanted);
        else create(wanted);
        return Promise.resolve(replyOf(place, isRenewal));
      } catch (error) {
        if (error instanceof Refused) throw error;
        throw new Refused(`The certificates could not be made: ${(error as Error).message}`, {
          cause: error,
        });
      }
    };
  },
};

/** The command. */
export const certificatesCommands: readonly Command[] = [certificates];
