/** Runs the example website of docs/forms.md in each of its languages. */

import { spawn } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../scripts/free_port.ts";
import { isSkipped } from "../../../scripts/test_plan.ts";
import { atEnd } from "../at_end.ts";
import { temporaryFolder } from "../folder.ts";
import { collect } from "../output.ts";
import { until } from "../until.ts";

const source = fileURLToPath(new URL("../../../docs/website", import.meta.url));

/** A language of the website, with the brief's function in it. */
interface Language {
  /** The language in the brief's fences. */
  readonly fence: string;
  readonly functionFile: string;
  readonly command: (port: number) => readonly [string, ...string[]];
}

const languages: Readonly<Record<"JavaScript" | "Python" | "PHP", Language>> = {
  JavaScript: {
    fence: "js",
    functionFile: "submit_form.js",
    command: () => [process.execPath, "server.js"],
  },
  Python: { fence: "python", functionFile: "submit_form.py", command: () => ["python3", "-B", "server.py"] },
  PHP: {
    fence: "php",
    functionFile: "submit_form.php",
    command: (port) => ["php", "-d", "display_errors=0", "-S", `127.0.0.1:${port}`, "index.php"],
  },
};

export type WebsiteLanguage = keyof typeof languages;

/** The languages that this machine can run. */
export const websiteLanguages = (Object.keys(languages) as WebsiteLanguage[])
  .filter((name) => !isSkipped(`test/suite/forms_docs: ${name}`));

/** A running website. */
export interface Website {
  readonly url: string;
  readonly port: number;
  /** Returns its output so far. */
  readonly log: () => string;
  readonly isRunning: () => boolean;
}

/** Starts the website with the function of the given brief, and stops it after the tests of the file. */
export async function startWebsite(
  language: WebsiteLanguage,
  { brief, key }: { readonly brief: string; readonly key: string },
): Promise<Website> {
  const { fence, functionFile, command } = languages[language];
  const folder = temporaryFolder("website");
  cpSync(source, folder, { recursive: true });
  const code = new RegExp(`^\`\`\`${fence}\n(.*?)^\`\`\`$`, "ms").exec(brief)?.[1] ?? "";
  writeFileSync(join(folder, functionFile), code);
  const port = await freePort();
  const [program, ...args] = command(port);
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PORT: String(port), FORMS_API_KEY: key };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const { both, ended } = collect(child);
  atEnd(() => {
    child.kill();
    return ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until(() => fetch(url).then(({ ok }) => ok, () => false), { what: `${language}: ${both()}` });
  return { url, port, log: both, isRunning: () => child.exitCode === null && child.signalCode === null };
}
