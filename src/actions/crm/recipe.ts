/**
 * The format of a CRM recipe: a JSON file that describes how one event becomes requests to one CRM.
 *
 * Chosen: JSONata for expressions, which is made for turning JSON into JSON and omits members without a value by itself.
 */

import type { PublishedRate } from "../../limiter/request_rate.ts";

export interface Setting {
  /** Whether the value is a secret; it is then never shown. */
  readonly secret?: boolean;
  readonly optional?: boolean;
  readonly default?: string;
  /** The values that the setting accepts. Default: any. */
  readonly values?: readonly string[];
  /** Whether the value must consist of digits. */
  readonly number?: boolean;
  /** Where an operator finds the value. */
  readonly about: string;
}

/** How requests authenticate; members other than `kind`, `client_auth`, `scheme` and `name` name settings. */
export type Auth =
  | { readonly kind: "none" }
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "basic"; readonly user: string; readonly password: string }
  | { readonly kind: "header"; readonly name: string; readonly value: string }
  | OAuth;

export interface OAuth {
  readonly kind: "oauth2_client_credentials" | "oauth2_refresh_token";
  readonly token_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly refresh_token?: string;
  readonly scope?: string;
  readonly client_auth?: "basic" | "body";
  /** The scheme of the `Authorization` header. Default: `Bearer`. */
  readonly scheme?: string;
}

/** A request. The members from `when` on, except `always` and `method`, are expressions. */
export interface Step {
  readonly name: string;
  readonly always?: boolean;
  readonly method: string;
  readonly when?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: string;
  readonly form?: string;
  readonly outcome?: string;
  readonly keep?: string;
}

export interface Recipe {
  readonly title: string;
  /** The vendor's documents against which the recipe was checked, with the date. */
  readonly checked?: string;
  /** Whether the CRM answers success without saying that it stored the lead. */
  readonly unconfirmed?: boolean;
  readonly settings: Readonly<Record<string, Setting>>;
  readonly auth: Auth;
  /** Patterns of hosts that the recipe may reach besides those in its settings, such as `*.my.salesforce.com`. */
  readonly hosts: readonly string[];
  readonly rate?: PublishedRate;
  readonly steps: readonly Step[];
}

/** A recipe with the values of its settings. */
export interface ConfiguredRecipe {
  readonly recipe: Recipe;
  /** The values that are not secret, with the defaults; empty ones are omitted. */
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Identifies the account at the CRM. */
  readonly credential: string;
}

/** Adds the defaults to the values that an operator gave. */
export function configure(
  recipe: Recipe,
  { settings, secrets, credential }: Omit<ConfiguredRecipe, "recipe">,
): ConfiguredRecipe {
  const defaults = Object.entries(recipe.settings).flatMap(([setting, rule]) =>
    rule.default === undefined ? [] : [[setting, rule.default] as const]
  );
  return { recipe, settings: { ...Object.fromEntries(defaults), ...settings }, secrets, credential };
}

/** Parses an operator's own recipe, which was checked when it was stored. */
export function parseStored(text: string): Recipe {
  return { hosts: [], ...JSON.parse(text) };
}
