/** Reads CRM recipes and their settings from the command line, and defines the `ctl crm` commands. */

import { isUtf8 } from "node:buffer";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { type Command, type Input, needsNoStore, Refused, UsageError } from "./command.ts";
import { checkSamples, checkSettings, checkSyntax } from "./recipe_check.ts";
import { credentialOf, parseRecipe, receiverOf, recipeBounds, versionOf } from "./recipe_format.ts";
import { JsonText, orList, record, safe, table } from "./terminal.ts";
import { Expressions } from "#src/actions/crm/expressions.ts";
import { configure, type Recipe } from "#src/actions/crm/recipe.ts";
import { shippedNames, shippedRecipe } from "#src/actions/crm/shipped.ts";
import { clocks } from "#src/process/deadline_thread.ts";
import { likelyName } from "#src/contract/likely_name.ts";
import type { RecipeChange, StoredRecipe, StoredRoute } from "#src/store/delivery/routes.ts";

/** A recipe that the command line names. */
interface NamedRecipe {
  readonly name: string;
  readonly recipe: Recipe;
  /** The text of the operator's own recipe; `null` for a shipped one. */
  readonly text: string | null;
  readonly version: string | null;
}

/** What the options of `tenant route` say about a CRM recipe. */
export interface RecipeOptions {
  /** `null` to change the settings of the route's recipe. */
  readonly named: NamedRecipe | null;
  /** The values given; an empty one removes the setting. */
  readonly settings: ReadonlyMap<string, string>;
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * Reads `--crm`, `--set` and `--secret`; `null` if none of them is given, or `--crm none`.
 *
 * @throws {UsageError} for options that are not valid
 * @throws {Refused} for a recipe that does not exist or does not parse, and for a file that cannot be read
 */
export function parseRecipeOptions(input: Input): RecipeOptions | null {
  const crm = input.option("crm");
  if (input.options("secret").filter((pair) => pair.endsWith("=-")).length > 1) {
    throw new UsageError("Only one --secret can be read from standard input (-)");
  }
  const settings = parsePairs(input.options("set"), "--set", (value) => value);
  const secrets = parsePairs(input.options("secret"), "--secret", readSecret);
  if (crm === "none") {
    if (settings.size + secrets.size > 0) {
      throw new UsageError("--crm none cannot be combined with --set or --secret");
    }
    return null;
  }
  if (crm === undefined && settings.size + secrets.size === 0) return null;
  return { named: crm === undefined ? null : findRecipe(crm), settings, secrets };
}

function parsePairs(
  pairs: readonly string[],
  option: string,
  read: (value: string, name: string) => string,
): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    // The message does not echo the pair, which may be a secret.
    if (at < 1) {
      throw new UsageError(`${option} must be NAME=${option === "--set" ? "VALUE" : "FILE, or NAME=-"}`);
    }
    const name = pair.slice(0, at);
    if (values.has(name)) throw new UsageError(`${option} ${name} is given twice`);
    values.set(name, read(pair.slice(at + 1), name));
  }
  return values;
}

const stdin = 0;
const secretBytesMax = 16_384;

/** Reads a file's first `bytesMax` bytes and one more, so that a longer file is noticed and never read whole. */
function readStart(file: string | typeof stdin, bytesMax: number): Buffer {
  const descriptor = file === stdin ? stdin : openSync(file, "r");
  try {
    const bytes = Buffer.alloc(bytesMax + 1);
    let length = 0;
    let count: number;
    do {
      count = readSync(descriptor, bytes, length, bytes.length - length, null);
      length += count;
    } while (count > 0 && length < bytes.length);
    return bytes.subarray(0, length);
  } finally {
    if (descriptor !== stdin) closeSync(descriptor);
  }
}

/** Reads a secret from a file, without white space at its ends; no file removes the secret. */
function readSecret(file: string, name: string): string {
  if (file === "") return "";
  let bytes: Buffer;
  try {
    bytes = readStart(file === "-" ? stdin : file, secretBytesMax);
  } catch (error) {
    // The message does not echo the file, because the secret itself may have been given.
    const cause = (error as { code?: string }).code ?? "unknown cause";
    throw new Refused(
      `--secret ${name}=FILE: the file cannot be read (${cause}); give a file, or - for standard input`,
    );
  }
  const from = file === "-" ? `--secret ${name}=-: standard input` : `--secret ${name}=FILE: the file`;
  if (bytes.length > secretBytesMax) throw new Refused(`${from} is longer than ${secretBytesMax} bytes`);
  if (!isUtf8(bytes)) throw new Refused(`${from} is not UTF-8`);
  const text = bytes.toString("utf8").replace(/^\ufeff/, "").trim();
  if (text === "") throw new Refused(`${from} is empty`);
  return text;
}

function findRecipe(crm: string): NamedRecipe {
  // No message echoes an address or another text than a name or a file, because it may be a secret.
  if (/^https?:/i.test(crm)) {
    throw new UsageError(
      "--crm must be a recipe, not an address; --crm-url sets a signed webhook, --crm webhook_json --secret url=FILE any other",
    );
  }
  const shipped = shippedRecipe(crm);
  if (shipped !== null) return { name: crm, recipe: shipped, text: null, version: versionOf(shipped) };
  if (!/[./\\]/.test(crm) || !existsSync(crm)) {
    // A folder with a dot may be the host of an address.
    if (/^(?:\.{0,2}\/)?(?:[\w-]+\/)*[\w-]{1,40}\.json$/i.test(crm)) {
      throw new Refused(`The file ${crm} does not exist`);
    }
    const likely = likelyName(crm, shippedNames);
    const hint = likely === null ? "ctl crm list shows the recipes" : `did you mean ${likely}?`;
    const echo = /^[a-z_-]{1,30}$/i.test(crm) ? `: ${crm}` : "";
    throw new Refused(
      `--crm must be a recipe's name or an existing recipe file (…/NAME.json)${echo}; ${hint}`,
    );
  }
  let text: string;
  try {
    text = readStart(crm, recipeBounds.textBytesMax).toString("utf8");
  } catch (error) {
    throw new Refused(`${crm} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
  }
  const name = basename(crm).replace(/\.json$/i, "").toLowerCase().replace(/[^a-z0-9_.-]/g, "_").slice(0, 40);
  if (!/^[a-z0-9]/.test(name)) {
    throw new Refused(`${crm}: the name of a recipe file must start with a letter or digit`);
  }
  const parsed = parseRecipe(text);
  const faults = "faults" in parsed ? parsed.faults : checkSyntax(parsed.recipe);
  if ("faults" in parsed || faults.length > 0) {
    throw new Refused(`${crm} is not a valid recipe; nothing was changed:`, { details: faults });
  }
  return { name, recipe: parsed.recipe, text, version: null };
}

/** What `tenant route` stores for a recipe. */
interface ResolvedRecipe {
  readonly name: string;
  readonly recipe: RecipeChange;
  /** The names of the secrets that a newly named recipe takes over from the route. */
  readonly keptSecrets: readonly string[];
}

/**
 * Applies the options to the scope's CRM route, and checks the recipe with a sample lead and a sample form.
 *
 * @throws {Refused} if a setting is missing, unknown or invalid, an expression fails, or there is no recipe to change
 */
export async function resolveRecipe(
  { named, settings, secrets }: RecipeOptions,
  before: StoredRoute | undefined,
): Promise<ResolvedRecipe> {
  const resolved = named ?? storedRecipe(before);
  const { name, recipe, text, version } = resolved;
  const old = before !== undefined && isSameReceiver(resolved, before) ? before.recipe : null;
  const oldSecrets = stillKnown(recipe, old?.secrets, true);
  const values = {
    settings: applied(stillKnown(recipe, old?.settings, false), settings),
    secrets: applied(oldSecrets, secrets),
  };
  const refuse = (faults: readonly string[]) => {
    if (faults.length > 0) {
      throw new Refused(`The recipe ${name} was not set; nothing was changed:`, { details: faults });
    }
  };
  refuse(checkSettings(recipe, values));
  const credential = credentialOf(recipe, values);
  const expressions = new Expressions(clocks);
  try {
    refuse(await checkSamples(configure(recipe, { ...values, credential }), expressions));
  } finally {
    expressions.close();
  }
  return {
    name,
    recipe: { text, version, ...values, credential, changedFrom: before?.recipe?.changedAt ?? null },
    keptSecrets: named === null ? [] : Object.keys(oldSecrets).filter((secret) => !secrets.has(secret)),
  };
}

/**
 * Whether a recipe sends to the receiver that a route's values were given for: the same shipped recipe or the same CRM.
 * Another file of the same name gets no values, because it may send the secrets elsewhere.
 */
function isSameReceiver({ name, recipe, text }: NamedRecipe, { addresses, recipe: stored }: StoredRoute) {
  if (stored === null || addresses[0] !== name) return false;
  if (text === stored.text) return true;
  const old = stored.text === null ? shippedRecipe(name) : parseRecipeOrNull(stored.text);
  return old !== null && receiverOf(old) === receiverOf(recipe);
}

function parseRecipeOrNull(text: string): Recipe | null {
  const parsed = parseRecipe(text);
  return "faults" in parsed ? null : parsed.recipe;
}

function storedRecipe(route: StoredRoute | undefined): NamedRecipe {
  const name = route?.addresses[0];
  if (route?.recipe == null || name === undefined) {
    throw new Refused("There is no CRM recipe to change here; --crm NAME sets one");
  }
  const { text } = route.recipe;
  if (text === null) return findRecipe(name);
  const recipe = parseRecipeOrNull(text);
  if (recipe === null) {
    throw new Refused(`The stored recipe ${name} is no longer valid; set it again with --crm FILE.json`);
  }
  return { name, recipe, text, version: null };
}

/** Returns the values for settings that a newer version of the recipe still has. */
function stillKnown(
  { settings }: Recipe,
  values: Readonly<Record<string, string>> = {},
  isSecret: boolean,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter(([name]) =>
      Object.hasOwn(settings, name) && (settings[name]?.secret === true) === isSecret
    ),
  );
}

function applied(
  before: Readonly<Record<string, string>>,
  changes: ReadonlyMap<string, string>,
): Record<string, string> {
  const after = new Map([...Object.entries(before), ...changes]);
  return Object.fromEntries([...after].filter(([, value]) => value !== ""));
}

/** Whether a route's shipped recipe is no longer the one that was set. */
export function isRecipeChanged(
  name: string,
  { text, version }: Pick<StoredRecipe, "text" | "version">,
): boolean {
  const shipped = shippedRecipe(name);
  return text === null && (shipped === null || versionOf(shipped) !== version);
}

/** Formats a CRM route with a recipe, with its secrets masked. */
export function recipeText(name: string, recipe: StoredRecipe): string {
  const values = [
    ...Object.entries(recipe.settings).map(([setting, value]) => `${setting}=${value}`),
    ...Object.keys(recipe.secrets).map((setting) => `${setting}=***`),
  ];
  const own = recipe.text === null ? "" : "own recipe ";
  const changed = isRecipeChanged(name, recipe)
    ? "\nAn upgrade changed this recipe since it was set; check it with --test --dry-run, and set it again"
    : "";
  return `${own}${name} (${values.join(", ")})${changed}`;
}

/** Converts a CRM route with a recipe to JSON, without the values of its secrets. */
export function recipeJson(name: string, recipe: StoredRecipe): Readonly<Record<string, unknown>> {
  return {
    recipe: name,
    is_own: recipe.text !== null,
    is_changed: isRecipeChanged(name, recipe),
    settings: recipe.settings,
    secrets: Object.keys(recipe.secrets),
  };
}

const list: Command = {
  words: "crm list",
  summary: "List the CRM recipes and the settings that each needs",
  prepare: needsNoStore,
  prepareWithoutStore: () => () => {
    const recipes = shippedNames.map((name) => ({ name, recipe: shippedRecipe(name) as Recipe }));
    const needed = ({ settings }: Recipe) =>
      Object.entries(settings).filter(([, rule]) => !rule.optional && rule.default === undefined)
        .map(([setting, { secret }]) => secret ? `--secret ${setting}=FILE` : `--set ${setting}=VALUE`);
    return Promise.resolve({
      json: recipes.map(({ name, recipe: { title, settings, checked = null } }) => ({
        name,
        title,
        checked,
        settings,
      })),
      text: table(recipes, "", {
        "NAME": ({ name }) => name,
        "CRM": ({ recipe }) => recipe.title,
        "NEEDS": ({ recipe }) => needed(recipe).join(" "),
      }),
    });
  },
};

const show: Command = {
  words: "crm show",
  positionals: ["NAME"],
  completions: shippedNames,
  summary: "Show a CRM recipe, to copy and edit",
  notes: `With --json, prints only the recipe's file; redirect it to NAME.json, edit it, and set it with
ctl tenant route SLUG --crm ./NAME.json.`,
  prepare: needsNoStore,
  prepareWithoutStore: (input) => () => {
    const shipped = shippedRecipe(input.first);
    if (shipped === null) {
      const likely = likelyName(input.first, shippedNames);
      throw new Refused(
        `There is no recipe ${safe(input.first)}; ${
          likely === null ? "ctl crm list shows them" : `did you mean ${likely}?`
        }`,
      );
    }
    const recipe = shipped;
    const { hosts, ...others } = recipe;
    const text = JSON.stringify(hosts.length === 0 ? others : recipe, null, 2);
    const settings = Object.entries(recipe.settings).map(([setting, rule]) => {
      const kinds = [
        ...(rule.secret ? ["secret"] : []),
        ...(rule.optional ? ["optional"] : []),
        ...(rule.default === undefined ? [] : [`default ${rule.default}`]),
        ...(rule.values === undefined ? [] : [orList(rule.values)]),
        ...(rule.number ? ["a number"] : []),
      ];
      return [setting, kinds.length === 0 ? rule.about : `${rule.about} [${kinds.join("; ")}]`] as const;
    });
    return Promise.resolve({
      json: new JsonText(text),
      text: `${recipe.title}\n\nSettings:\n${record(settings, "  ")}\n\n${text}`,
    });
  },
};

export const crmCommands: readonly Command[] = [list, show];
