/**
 * Extracts from schema.org's vocabulary what the site's graph uses, into `test/vectors/site/schema_org.json`: the types
 * named there as `used` with all they inherit from, and the properties of each with the types of its values. Run it
 * again after adding a type to `used`, or after an update of `schema-dts`.
 *
 * The source is the npm package schema-dts, which Google generates from schema.org's own definitions.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** The vector. */
export interface SchemaOrg {
  readonly about: string;
  /** The types that the site may use. */
  readonly used: readonly string[];
  /** Those and their ancestors. */
  readonly types: Readonly<Record<string, SchemaType>>;
}

/** A type. */
export interface SchemaType {
  readonly extends: readonly string[];
  /** Its own properties, with the types of values that each may have. */
  readonly properties: Readonly<Record<string, readonly string[]>>;
}

const file = new URL("../test/vectors/site/schema_org.json", import.meta.url);
const require = createRequire(import.meta.url);

/** Makes the vector for the types that it names itself. */
export function extractSchemaOrg(used: readonly string[]): SchemaOrg {
  const folder = dirname(dirname(require.resolve("schema-dts")));
  const declarations = readFileSync(join(folder, "dist/schema.d.ts"), "utf8");
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const types: Record<string, SchemaType> = {};
  const wanted = [...used];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (types[name] !== undefined) continue;
    types[name] = readType(declarations, name);
    wanted.push(...(types[name]?.extends ?? []));
  }
  const sorted = Object.keys(types).sort().map((name) => [name, types[name] as SchemaType]);
  return {
    about: `Extracted by scripts/build_schema_org.ts from schema-dts ${version}; do not edit but for "used".`,
    used: [...used].sort(),
    types: Object.fromEntries(sorted),
  };
}

function readType(declarations: string, name: string): SchemaType {
  // A type without properties of its own has no base of its own.
  const match = new RegExp(`^interface ${name}Base extends ([^{]+) \\{\\n([\\s\\S]*?)^\\}$`, "m")
    .exec(declarations) ??
    new RegExp(`^export interface ${name}Leaf extends (\\w+) \\{\\n([\\s\\S]*?)^\\}$`, "m").exec(
      declarations,
    );
  if (match === null) throw new Error(`schema.org has no type ${name}`);
  const parents = [...(match[1] as string).matchAll(/\b(\w+)Base\b/g)].map(([, parent]) => parent as string);
  const properties = [...(match[2] as string).matchAll(/^ {4}"(\w+)"\?: SchemaValue<(.+), "\w+">;$/gm)]
    .map(([, property, values]) =>
      [
        property as string,
        (values as string).split(" | ").map((one) => one.replace(/<.*$/, "")).filter((one) =>
          one !== "IdReference"
        ),
      ] as const
    );
  return { extends: parents, properties: Object.fromEntries(properties) };
}

/** A type a line, so that a difference shows the types it is about. */
function inLines({ about, used, types }: SchemaOrg): string {
  const lines = Object.entries(types).map(([name, type]) =>
    `${JSON.stringify(name)}: ${JSON.stringify(type)}`
  );
  return [
    `{\n"about": ${JSON.stringify(about)},`,
    `"used": ${JSON.stringify(used)},`,
    `"types": {\n${lines.join(",\n")}\n}\n}\n`,
  ].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { used } = JSON.parse(readFileSync(file, "utf8")) as SchemaOrg;
  writeFileSync(file, inLines(extractSchemaOrg(used)));
}
