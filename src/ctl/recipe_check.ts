/** Checks a recipe and its settings before they are stored, so that the operator sees a mistake, and no lead does. */

import { sampleEvent } from "#src/actions/sample.ts";
import { verdicts } from "#src/actions/crm/engine.ts";
import { headerValue, requestExpressions } from "#src/actions/crm/request.ts";
import { madeUpToken } from "#src/actions/recipe_preview.ts";
import type { Expression, Expressions, Response, Scope, Value } from "#src/actions/crm/expressions.ts";
import { authSettings } from "./recipe_format.ts";
import { orList } from "./terminal.ts";
import { isAllowedHost } from "#src/actions/crm/hosts.ts";
import { inputNames } from "#src/actions/crm/input.ts";
import { personMembers } from "#src/actions/person.ts";
import { Mask } from "#src/actions/secret_mask.ts";
import { noEarlierPosts } from "#src/store/delivery/earlier_posts.ts";
import type { ConfiguredRecipe, Recipe, Setting, Step } from "#src/actions/crm/recipe.ts";
import {
  keptNames,
  membersRead,
  type Node,
  parsedNodes,
  parseExpression,
  type PlacedExpression,
  readKeptNames,
  rootsRead,
  stepExpressions,
} from "#src/actions/recipe_syntax.ts";

const responseNames = ["status", "headers", "body"];
const moreNames: Partial<Record<PlacedExpression["member"], readonly string[]>> = {
  url: ["secrets"],
  headers: ["secrets"],
  outcome: responseNames,
  keep: responseNames,
};

/** Checks the syntax of a recipe's expressions and the names that they use; returns the faults. */
export function checkSyntax(recipe: Recipe): string[] {
  const kept: string[] = [];
  const keptByAll = recipe.steps.flatMap(({ keep = "" }) => keptNames(keep));
  const isSecret = (name: string) => recipe.settings[name]?.secret === true;
  const settings = Object.keys(recipe.settings);
  return recipe.steps.flatMap((step) => {
    const names = step.keep === undefined ? [] : readKeptNames(step.keep);
    kept.push(...names ?? []);
    const known: Readonly<Record<string, readonly string[]>> = {
      settings: settings.filter((name) => !isSecret(name)),
      secrets: settings.filter(isSecret),
      person: personMembers,
      // A step that always runs sees what later steps kept in an earlier attempt.
      kept: [...new Set(step.always === true ? keptByAll : kept)],
    };
    const isKeepUnclear = names === null && "node" in parseExpression(step.keep ?? "");
    return [
      ...stepExpressions(step).flatMap(({ at, text, member }) => {
        const parsed = parseExpression(text);
        if (!("node" in parsed)) return [`${at}: ${parsed.message}${place(parsed.position)}`];
        const roots = [...inputNames, ...moreNames[member] ?? []];
        const unknown = rootsRead(parsed.node).filter(({ name }) =>
          name !== "secrets" && !roots.includes(name)
        );
        return [
          ...refusedFunctionsIn(text).map((name) =>
            `${at}: ${name} is not available; a retry must send the same`
          ),
          ...(member === "url" || member === "headers" || !usesSecrets(text)
            ? []
            : [`${at}: only url and headers may use secrets`]),
          ...unknown.map(({ name, position }) =>
            `${at}: ${name} is unknown${place(position)}; known are ${roots.join(", ")}`
          ),
          ...Object.entries(known).flatMap(([object, members]) =>
            membersRead(text, object).filter(({ name }) => !members.includes(name)).map((
              { name, position },
            ) =>
              `${at}: ${object}.${name} is unknown${place(position)}; known are ${
                members.join(", ") || "none"
              }`
            )
          ),
        ];
      }),
      ...(isKeepUnclear
        ? [`step ${step.name}, keep: it must be an object with literal names, { 'name': … }`]
        : []),
    ];
  });
}

function place(position: number | null): string {
  return position === null ? "" : ` (at character ${position})`;
}

/** Evaluates every expression with a sample lead and a sample form; returns the faults. */
export async function checkSamples(
  configured: ConfiguredRecipe,
  expressions: Expressions,
): Promise<string[]> {
  const mask = new Mask(Object.values(configured.secrets));
  const faults = new Map<string, Set<string>>();
  for (const form of ["", "contact"]) {
    for (const step of configured.recipe.steps) {
      for (const fault of await checkStep(step, form, configured, expressions)) {
        // An expression's message may quote a secret, and is long then.
        const text = mask.hide(`step ${step.name}, ${fault}`).slice(0, 500);
        const samples = faults.get(text) ?? new Set();
        faults.set(text, samples.add(form === "" ? "a sample lead" : "a sample form"));
      }
    }
  }
  return [...faults].map(([text, samples]) => `${text} (with ${[...samples].join(" and ")})`);
}

/** The responses with which `outcome` and, for 200, `keep` are checked. */
const statuses = [200, 207, 302, 400, 401, 404, 409, 422, 429, 500];
/** A CRM responds with JSON or with text; an expression need not be right for both. */
const bodies = ["{}", "text"];

/** A number whose digits a double would change: arithmetic with it needs `$number`. */
const exactNumber = '"budget":100.00';

/** A name that is not Latin-1, as headers must be. */
const sampleName = "Łukasz";

function withMember(object: string, member: string): string {
  return object.replace("{", object === "{}" ? `{${member}` : `{${member},`);
}

async function checkStep(
  step: Step,
  form: string,
  configured: ConfiguredRecipe,
  expressions: Expressions,
): Promise<string[]> {
  const { recipe, settings, secrets } = configured;
  const sample = sampleEvent({ tenant: "sample", source: "sample", form }, 0);
  const event = {
    ...sample,
    content: sample.content.replace('"Test', `"${sampleName}`),
    extra: withMember(sample.extra, exactNumber),
  };
  const tenant = { slug: "sample", name: "Sample", timeZone: "UTC" };
  const scope: Scope = { settings, kept: {}, token: madeUpToken(recipe) };
  const evaluate = async (list: readonly Expression[], response?: Response) =>
    await expressions.evaluate("sample", {
      event: { event, tenant, isTest: true, earlier: noEarlierPosts },
      scope: { ...scope, ...(response === undefined ? {} : { response }) },
      secrets,
      expressions: list,
    }) ?? [];
  const expression = (name: "when" | "outcome" | "keep", as: Expression["as"]): Expression[] => {
    const text = step[name];
    return text === undefined ? [] : [{ name, text, as }];
  };
  const requested = await evaluate([...expression("when", "value"), ...requestExpressions(step)]);
  const judged: string[] = [];
  for (const status of statuses) {
    const judging = [
      ...expression("outcome", "text"),
      ...(status === 200 ? expression("keep", "value") : []),
    ];
    const faults = await Promise.all(
      bodies.map(async (text) => faultsOf(await evaluate(judging, { status, headers: {}, text }))),
    );
    if (faults.some(({ length }) => length === 0)) continue;
    judged.push(...faults[0] ?? []);
    // An expression that ran into the deadline would do so for each response.
    break;
  }
  const url = requested.find(({ name }) => name === "url");
  const address = url !== undefined && "text" in url ? url.text ?? "" : null;
  return [
    ...faultsOf(requested),
    ...judged,
    ...requested.filter((value) =>
      value.name.startsWith("headers.") && "text" in value && !headerValue.test(value.text ?? "")
    ).map(({ name }) => `${name}: must be Latin-1 on one line, also for the name ${sampleName}`),
    ...(address === null || isAllowedHost(address, configured) ? [] : [
      URL.canParse(address)
        // A URL's path may contain a secret.
        ? `url: the recipe may not reach ${
          new URL(address).origin
        }; name the host in a setting or in hosts, with https`
        : "url is not a URL",
    ]),
  ];
}

function faultsOf(values: readonly Value[]): string[] {
  return values.flatMap((value) => {
    if ("fault" in value) return [`${value.name}: ${value.fault.message}${place(value.fault.position)}`];
    const isWrong = value.name === "outcome" && value.text !== null && !verdicts.includes(value.text);
    return isWrong ? [`outcome must be ${orList(verdicts)}, not '${value.text.slice(0, 40)}'`] : [];
  });
}

/** Checks the values of a recipe's settings; returns the faults. */
export function checkSettings(
  recipe: Recipe,
  { settings, secrets }: Pick<ConfiguredRecipe, "settings" | "secrets">,
): string[] {
  const names = Object.keys(recipe.settings);
  const { auth } = recipe;
  // The other kinds encode their values.
  const inHeader = auth.kind === "bearer" || auth.kind === "header"
    ? authSettings(auth).map(([, setting]) => setting)
    : [];
  const unknown = [...Object.keys(settings), ...Object.keys(secrets)].filter((name) => !names.includes(name));
  return [
    ...unknown.map((name) =>
      `${name} is not a setting of this recipe; its settings are ${names.join(", ") || "none"}`
    ),
    ...Object.entries(recipe.settings).flatMap(
      ([name, rule]) => {
        const { secret = false, optional = false, default: given, about } = rule;
        const option = secret ? "--secret" : "--set";
        if (Object.hasOwn(secret ? settings : secrets, name)) {
          return [
            secret
              ? `${name} is a secret; pass it in a file: --secret ${name}=FILE, or --secret ${name}=- for standard input`
              : `${name} is not a secret; pass it with --set ${name}=VALUE`,
          ];
        }
        const values = secret ? secrets : settings;
        const value = Object.hasOwn(values, name) ? values[name] : given;
        if (value === undefined) {
          return optional ? [] : [`${name} is missing: ${option} ${name}=… (${about})`];
        }
        const fault = valueFault(name, rule, value);
        if (fault !== null) return [`${name} ${fault}`];
        return inHeader.includes(name) && !headerValue.test(value)
          ? [`${name} contains a character that a header cannot have`]
          : [];
      },
    ),
  ];
}

// Chosen: longer than any id, address or list of tags; secrets come from files, which have a bound of their own.
const settingLengthMax = 1_000;

/** Returns what is wrong with a setting's value, for a message that starts with its name. */
function valueFault(name: string, { secret, values, number }: Setting, value: string): string | null {
  if (!secret && value.length > settingLengthMax) return `is longer than ${settingLengthMax} characters`;
  if (/\p{Cc}/u.test(value)) return "contains a control character or more than one line";
  if (secret && /\p{Cf}/u.test(value)) return "contains an invisible character";
  if (values !== undefined && !values.includes(value)) return `must be ${orList(values)}`;
  if (number && !/^\d+$/.test(value)) return "must be a number";
  const isUrl = /(?:^|_)url$/.test(name);
  return isUrl && !/^https:\/\/[^/?#@\s]+([/?][^#\s]*)?$/.test(value)
    ? "must be an https URL without a user name, a fragment or spaces"
    : null;
}

/** Whether an expression uses the secrets at all. */
function usesSecrets(text: string): boolean {
  return parsedNodes(text).some(({ type, value }: Node) => type === "name" && value === "secrets");
}

/** The functions that give another result at each call, or run texts as code. */
const refusedFunctions = ["now", "millis", "random", "shuffle", "eval"];

/** Returns the refused functions that an expression names. */
function refusedFunctionsIn(text: string): string[] {
  return parsedNodes(text).flatMap(({ type, value }: Node) =>
    type === "variable" && refusedFunctions.includes(value) ? [`$${value}`] : []
  );
}
