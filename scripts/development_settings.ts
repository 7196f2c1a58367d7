/** Finds the settings of the running `npm start`. */

import { join } from "node:path";
import type { Environment } from "../src/settings/reader.ts";
import { devCertificatesIn } from "./dev_certificates.ts";
import { dataFolder, findDatabaseUrl, findRunning } from "./running.ts";
import { actionsSettings, serviceSettings } from "./start_delivery.ts";

/** Returns this shell's environment with the settings of `npm start`'s processes; `null` if there is no database URL. */
export function developmentSettings(): Environment | null {
  let databaseUrl: string;
  try {
    databaseUrl = findDatabaseUrl();
  } catch {
    return null;
  }
  const addresses = new Map(findRunning()?.addresses);
  const [url, smtpUrl] = [addresses.get("actions"), addresses.get("smtp")];
  if (url === undefined) return { ...process.env, DATABASE_URL: databaseUrl };
  const files = devCertificatesIn(join(dataFolder, "certificates"));
  return {
    ...actionsSettings(files, {
      databaseUrl,
      listen: new URL(url).host,
      catcher: smtpUrl === undefined ? undefined : { smtpUrl },
    }),
    ...serviceSettings(databaseUrl, { url, files }),
    ACTIONS_DATABASE_URL: databaseUrl,
  };
}
