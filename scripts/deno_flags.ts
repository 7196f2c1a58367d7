/**
 * What the service may do when it runs on Deno. The tests start it with these flags, and the README quotes them.
 *
 * @module
 */

// The settings of src/config.ts by prefix; postgres.js looks at PGSSL and the like when it opens a pool.
const variables = [
  "DATABASE_URL",
  "PG*",
  "INTAKE_*",
  "FORMS_*",
  "SUBSCRIPTION_*",
  "SITE_*",
  "OPS_*",
  "TLS_*",
  "TRUSTED_PROXIES",
  "ACTIONS_*",
  "DELIVERY_*",
  "CHECKOUT_*",
  "STRIPE_*",
];

/**
 * The flags of `deno run` for `src/main.ts`, started in the repository's folder: the network, the
 * settings, and its own `sql/`. Certificate files have to be added to `--allow-read`.
 */
export const denoFlags: readonly string[] = [
  "--no-prompt",
  "--cached-only",
  "--allow-net",
  "--allow-read=sql",
  `--allow-env=${variables.join(",")}`,
];
