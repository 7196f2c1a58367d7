/**
 * `ctl certificates`
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import {
  certFile,
  create,
  keyFile,
  namesDefault,
  namesOf,
  type Place,
  renew,
  type Wanted,
} from "./actions_certificates.ts";
import { type Command, type Input, needsNoStore, Refused, type Reply, WrongUsage } from "./command.ts";
import { record, shortTime } from "./terminal.ts";
import { parseCount } from "./values.ts";

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
  const read = (file: string) => new X509Certificate(readFileSync(file));
  const [ca, server, client] = [place.caFile, certFile(place, "server"), certFile(place, "client")].map(
    read,
  ) as [
    X509Certificate,
    X509Certificate,
    X509Certificate,
  ];
  const iso = (certificate: X509Certificate) => new Date(certificate.validTo).toISOString();
  const settings = settingsOf(place, namesOf(server), namesOf(client));
  const lines = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => `${name}=${value}`).join("\n");
  const made = record([
    ["Authority", `${place.caFile}, until ${shortTime(iso(ca))} UTC`],
    [
      "Server",
      `${certFile(place, "server")}, until ${shortTime(iso(server))} UTC, for ${namesOf(server).join(", ")}`,
    ],
    [
      "Client",
      `${certFile(place, "client")}, until ${shortTime(iso(client))} UTC, for ${namesOf(client).join(", ")}`,
    ],
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

The authority's key, ${place.caKeyFile}, is for no process: whoever has it can pose as either end.
Keep it off this machine; ctl certificates ${place.folder} --renew --ca-key FILE needs it again.`;
  return {
    json: {
      folder: place.folder,
      renewed: isRenewal,
      ca: { file: place.caFile, key_file: place.caKeyFile, expires_at: iso(ca) },
      server: { file: certFile(place, "server"), names: namesOf(server), expires_at: iso(server) },
      client: { file: certFile(place, "client"), names: namesOf(client), expires_at: iso(client) },
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
