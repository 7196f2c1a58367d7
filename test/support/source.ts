/** Reads the repository's text files. */

import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

/** A text file of the repository. */
export interface SourceFile {
  /** The path from the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** One import or export-from of a module. */
export interface Import {
  /** As written. */
  readonly specifier: string;
  /** The imported file's path from the root, if it belongs to the repository. */
  readonly path: string | undefined;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const foreign = new Set(["node_modules", ".git", ".data", "build", "coverage", "target", "dist", "vendor"]);

/** The client kits' file types. */
const ofKits = /\.(go|mod|work|rs|toml|py|rb|rbs|gemspec|php|java|xml)$/;

/** Returns every text file in the tree, committed or not. */
export function readSources(): SourceFile[] {
  return walk("").map((path) => ({ path, text: readFileSync(root + path, "utf8") }));
}

function walk(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap((entry) => {
    if (foreign.has(entry.name)) return [];
    const path = folder + entry.name;
    if (entry.isDirectory()) return walk(`${path}/`);
    return /\.(ts|js|json|jsonc|md|sql|sh|yml|service|timer|conf)$|^[^.]*$|\/run$/.test(entry.name) ||
        ofKits.test(entry.name)
      ? [path]
      : [];
  });
}

/** Returns a module's text with comments removed and line breaks preserved; strings stay. */
export function withoutComments(text: string): string {
  return text.replaceAll(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\/\*[\s\S]*?\*\/|(^|[\s;{}(,])\/\/[^\n]*/g,
    (match, string: string | undefined, before: string | undefined) =>
      string ?? (before ?? "") + match.replaceAll(/[^\n]/g, "").slice((before ?? "").includes("\n") ? 1 : 0),
  );
}

/** Returns a module's text without comments and without the text of template strings; their expressions stay. */
export function withoutQuotes(text: string): string {
  return withoutComments(text).replaceAll(
    /`(?:[^`\\]|\\[\s\S])*`/g,
    (quote) =>
      `\`${
        quote.slice(1, -1).replaceAll(
          /\\[\s\S]|\$\{[^{}`]*\}|[^\n]/g,
          (part) => part.startsWith("${") ? part : "",
        )
      }\``,
  );
}

/** Returns a module's static imports and those with `import("…")`. */
export function importsOf(file: SourceFile): Import[] {
  const text = withoutComments(file.text);
  const statement =
    /^(import|export)\s+(?:type\s)?(?:[^;"'`]*?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;
  return [...text.matchAll(statement)].map((match) => {
    const specifier = match[2] ?? match[3] ?? "";
    return { specifier, path: pathOf(file.path, specifier) };
  });
}

function pathOf(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith("#src/")) return `src/${specifier.slice("#src/".length)}`;
  if (!specifier.startsWith(".")) return undefined;
  return posix.normalize(posix.join(posix.dirname(importer), specifier));
}
