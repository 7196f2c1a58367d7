/**
 * Generates `src/documents/kits.json`, which is committed, from each kit's `kit.json` and tested example. With
 * `--check`, it only compares them, and exits with status 1 if the file is outdated.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { extname } from "node:path";

const kitsFolder = new URL("../kits/", import.meta.url);
const target = new URL("../src/documents/kits.json", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, kitsFolder), "utf8");

/** The language names for code blocks, by file extension. */
const languages: Readonly<Record<string, string>> = {
  ".go": "go",
  ".rs": "rust",
  ".js": "js",
  ".py": "python",
  ".rb": "ruby",
  ".php": "php",
  ".java": "java",
  ".cs": "csharp",
  ".sh": "sh",
};

/** Returns the text of `kits.json`. Chosen: JSON, because both runtimes can import it without read permission. */
function kitsJson(): string {
  const { version, names, kits } = JSON.parse(read("kits.json"));
  const rows = kits.map((id: string) => {
    const manifest = read(`${id}/kit.json`).replace(/\{(\w+)\}/g, (_, name) => names[name]);
    const { name, from, about, platform, published, local, example, ...registry } = JSON.parse(manifest);
    const language = languages[extname(example)];
    if (language === undefined) throw new Error(`kits/${id}/${example} has an unknown file extension`);
    // An unpublished kit is installed from a local path, because anyone could claim its name in a registry.
    const { install, address } = published ? registry : { install: local };
    return {
      name,
      from,
      about,
      platform,
      published,
      install,
      address,
      language,
      example: read(`${id}/${example}`),
    };
  });
  return `${JSON.stringify({ version, kits: rows }, null, 2)}\n`;
}

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== kitsJson()) {
    console.error("src/documents/kits.json is outdated; run: npx node scripts/build_kits.ts");
    process.exitCode = 1;
  }
} else writeFileSync(target, kitsJson());
