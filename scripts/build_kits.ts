/**
 * Generates `src/documents/kits.json`, which is committed, from each kit's `kit.json` and its tested example. `--check`
 * only compares: exit status 1 if the file is outdated.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { extname } from "node:path";

const kitsFolder = new URL("../kits/", import.meta.url);
const target = new URL("../src/documents/kits.json", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, kitsFolder), "utf8");

/** Code blocks' language names by file extension. */
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

/** The text of `kits.json`. Chosen: JSON, because both runtimes import it without a permission to read files. */
function gathered(): string {
  const { version, names, kits } = JSON.parse(read("kits.json"));
  const rows = kits.map((id: string) => {
    const manifest = read(`${id}/kit.json`).replace(/\{(\w+)\}/g, (_, name) => names[name]);
    const { name, from, about, platform, published, local, example, ...registry } = JSON.parse(manifest);
    const language = languages[extname(example)];
    if (language === undefined) throw new Error(`kits/${id}/${example} has an ending that is not known`);
    // Until a kit is published, anyone could claim its name in a registry, so no page prints it.
    const { install, address } = published ? registry : { install: local };
    return {
      ...{ name, from, about, platform, published, install, address, language },
      example: read(`${id}/${example}`),
    };
  });
  return `${JSON.stringify({ version, kits: rows }, null, 2)}\n`;
}

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== gathered()) {
    console.error("src/documents/kits.json is not what the kits say; run: npx node scripts/build_kits.ts");
    process.exitCode = 1;
  }
} else writeFileSync(target, gathered());
