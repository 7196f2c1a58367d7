/**
 * The languages that the documents have code in, and whether what runs them is here.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import process from "node:process";

/** What has to work for each, and how to get it on Debian. */
const tools = {
  "TypeScript": { needs: `${JSON.stringify(process.execPath)} --version`, install: "npm ci" },
  "Python": { needs: "python3 -c 'import hmac, ssl'", install: "apt-get install python3" },
  "Go": { needs: "go version", install: "apt-get install golang-go" },
  "PHP": {
    needs: `php -r 'exit(extension_loaded("curl") ? 0 : 1);'`,
    install: "apt-get install php-cli php-curl",
  },
  "Ruby": { needs: "ruby -ropenssl -e 1", install: "apt-get install ruby" },
  "Java": { needs: "javac -version", install: "apt-get install default-jdk-headless" },
} as const;

/** One of them. */
export type Language = keyof typeof tools;

/**
 * What to install for a language whose tools are not here; `null` when they are. In CI they have to be.
 *
 * @throws {Error} in CI, when they are not, with what to install
 */
export function missingFor(language: Language): string | null {
  const { needs, install } = tools[language];
  if (spawnSync("sh", ["-c", needs], { stdio: "ignore" }).status === 0) return null;
  if (process.env.CI === "true") {
    throw new Error(`"${needs}" fails, which the code in ${language} needs: ${install}`);
  }
  return install;
}
