/**
 * Room on the disks of this machine: the database's, when it is here, and the site's.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isLoopbackHostname } from "#src/http/addresses.ts";
import { type Check, failure, type Finding, ok, type Situation, warning } from "./check.ts";

const gib = 1024 ** 3;
// The database stops at a full disk, and a day's leads and their log need room: yellow while there is time.
const share = { warning: 0.15, failure: 0.05 };
const bytes = { warning: 2 * gib, failure: gib / 2 };
/** Where distributions keep the databases of PostgreSQL, for a role that may not know. */
const usualFolders = ["/var/lib/postgresql", "/var/lib/pgsql"];

async function room(what: string, folder: string): Promise<Finding> {
  const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const part = blocks === 0 ? 1 : bavail / blocks;
  // Some file systems make inodes as they need them, and say 0.
  const inodes = files === 0 ? 1 : ffree / files;
  const text = `${what}, ${folder}: ${(free / gib).toFixed(1)} GiB free (${Math.floor(part * 100)} %), ${
    Math.floor(inodes * 100)
  } % of the inodes`;
  const isBelow = (level: "warning" | "failure") =>
    inodes < share[level] || free < bytes[level] || part < share[level] && free < 10 * bytes[level];
  const mend =
    `du -xhd1 ${folder} shows what fills it; ctl tenant retention SLUG --days N ends how long leads are kept`;
  return isBelow("failure") ? failure(text, mend) : isBelow("warning") ? warning(text, mend) : ok(text);
}

async function databaseRoom({ database }: Situation): Promise<Finding[]> {
  if (database === null) return [];
  const { hostname } = new URL(database.url);
  if (hostname !== "" && !isLoopbackHostname(hostname)) {
    return [ok(`the database's is at ${hostname}, and not seen from here`)];
  }
  const facts = await database.facts().catch(() => null);
  const folder = facts?.value.dataDirectory ?? usualFolders.find((name) => existsSync(name));
  if (folder === undefined) {
    return facts === null ? [] : [
      warning(
        "where the database is is not known",
        `as a superuser: grant pg_read_all_settings to ${facts.value.role}`,
      ),
    ];
  }
  return [await room("the database", folder)];
}

async function siteRoom({ service }: Situation): Promise<Finding[]> {
  if (service === null || !service.config.surfaces.has("site")) return [];
  const folder = resolve(service.config.siteDir);
  if (!existsSync(folder)) {
    return [warning(`SITE_DIR, ${folder}, is not there: the site answers 404`, "npm run site:build")];
  }
  return [await room("the site", existsSync(folder) ? folder : dirname(folder))];
}

/** The check. */
export const diskChecks: readonly Check[] = [{
  name: "Disk",
  run: async (situation) => {
    const found = (await Promise.all([databaseRoom(situation), siteRoom(situation)])).flat();
    return found.length > 0 ? found : [warning("not known without the database and the service's settings")];
  },
}];
