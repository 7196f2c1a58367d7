import assert from "node:assert/strict";
import { before, test } from "node:test";
import vocabulary from "../vectors/site/schema_org.json" with { type: "json" };
import { type BuiltSite, gutterCare, type JsonLdNode, jsonLdOf, SiteWorld } from "../support/site/site.ts";

let world: SiteWorld;
let site: BuiltSite;
let graphs: ReadonlyMap<string, JsonLdNode[]>;

before(async () => {
  world = await SiteWorld.open();
  await world.put(gutterCare);
  await world.add("wine cellar", "proposed");
  site = await world.build("site");
  graphs = new Map([...site.pages].map(([path, html]) => [path, jsonLdOf(html)]));
});

const types: Readonly<
  Record<string, { extends: readonly string[]; properties: Readonly<Record<string, readonly string[]>> }>
> = vocabulary.types;

const isReference = (value: unknown): value is { "@id": string } =>
  typeof value === "object" && value !== null && "@id" in value;

/** A type with all it inherits from. */
function lineage(type: string): string[] {
  return [type, ...(types[type]?.extends ?? []).flatMap(lineage)];
}

/** What a property of a type may have, or `undefined` when the type has no such property. */
function rangeOf(type: string, property: string): readonly string[] | undefined {
  return lineage(type).map((one) => types[one]?.properties[property]).find((range) => range !== undefined);
}

/** The names of schema.org's data types that a literal can be. */
function literalTypes(value: unknown): string[] {
  if (typeof value === "number") return ["Number", "Integer"];
  if (typeof value === "boolean") return ["Boolean"];
  const text = String(value);
  return [
    "Text",
    ...(URL.canParse(text) ? ["URL"] : []),
    ...(/^\d{4}-\d\d-\d\d$/.test(text) ? ["Date"] : []),
    ...(/^P(\d+[YMWD])+$/.test(text) ? ["Duration"] : []),
    ...(/^-?\d+(\.\d+)?$/.test(text) ? ["Number"] : []),
  ];
}

test("every node has a type of schema.org, and only properties that this type has, with values that they take", () => {
  const everything = new Map([...graphs.values()].flat().map((node) => [node["@id"], node]));
  const wrong = [...everything.values()].flatMap((node) => {
    const { "@id": id, "@type": type, ...properties } = node;
    if (!vocabulary.used.includes(type)) return [`${id} is a ${type}`];
    return Object.entries(properties).flatMap(([property, value]) => {
      const range = rangeOf(type, property);
      if (range === undefined) return [`${id}: a ${type} has no ${property}`];
      return [value].flat().filter((one) => {
        const kinds = isReference(one)
          ? lineage(everything.get(one["@id"])?.["@type"] ?? "")
          : literalTypes(one);
        return !kinds.some((kind) => range.includes(kind));
      }).map((one) => `${id}: ${property} may not be ${JSON.stringify(one)}`);
    });
  });
  assert.deepEqual(wrong, []);
});

test("the JSON-LD of every page can be made from the rows of entity and edge, and there is nothing else in them", () => {
  const database = site.database();
  const entities = database.prepare("select * from entity").all() as Record<string, string | null>[];
  const edges = database.prepare("select * from edge order by subject, predicate, position").all() as {
    subject: string;
    predicate: string;
    object: string;
    position: number | null;
  }[];
  const made = entities.map((row) => {
    const node: Record<string, unknown> = { "@id": row.id, "@type": row.type };
    for (const name of ["name", "description", "url"]) if (row[name] !== null) node[name] = row[name];
    Object.assign(node, JSON.parse(row.properties as string));
    for (const { predicate, object, position } of edges.filter(({ subject }) => subject === row.id)) {
      if (position === null) {
        assert.ok(!(predicate in node), `${row.id} has ${predicate} twice`);
        node[predicate] = { "@id": object };
      } else {
        const list = (node[predicate] ??= []) as unknown[];
        assert.equal(list.length, position);
        list.push({ "@id": object });
      }
    }
    return { page: row.page as string, node };
  });
  const byId = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a["@id"]) < String(b["@id"]) ? -1 : 1;
  const shared = made.filter(({ node }) => /\/#(organization|website)$/.test(String(node["@id"])));
  assert.ok(shared.length === 2 && shared.every(({ page }) => page === "/"));
  for (const [path, nodes] of graphs) {
    const own = made.filter((one) => one.page === path && !shared.includes(one));
    assert.deepEqual([...own, ...shared].map(({ node }) => node).sort(byId), [...nodes].sort(byId), path);
  }
  assert.equal(made.length, new Set([...graphs.values()].flat().map((node) => node["@id"])).size);
  database.close();
});
