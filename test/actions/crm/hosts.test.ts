import assert from "node:assert/strict";
import { test } from "node:test";
import { isAllowedHost } from "../../../src/actions/crm/hosts.ts";
import { configure } from "../../../src/actions/crm/recipe.ts";
import { parseRecipe } from "../../../src/ctl/recipe_format.ts";

const parsed = parseRecipe(JSON.stringify({
  title: "A test",
  settings: {
    base_url: { about: "the address" },
    token_url: { default: "https://accounts.crm.example/token", about: "the token's address" },
    hook: { secret: true, about: "a webhook" },
    word: { optional: true, about: "any text" },
  },
  auth: { kind: "none" },
  hosts: ["*.my.salesforce.example", "api.crm.example"],
  steps: [{ name: "post", method: "POST", url: "settings.base_url" }],
}));
if ("faults" in parsed) throw new Error(parsed.faults.join());
const configured = configure(parsed.recipe, {
  settings: { base_url: "https://crm.test:8443/v1", word: "evil.example" },
  secrets: { hook: "https://hooks.zap.example/hooks/catch/1" },
  credential: "",
});

const allowed = [
  "https://crm.test:8443/other/path?x=1",
  "HTTPS://CRM.TEST:8443/",
  "https://accounts.crm.example/token",
  "https://accounts.crm.example:443/",
  "https://hooks.zap.example/",
  "https://api.crm.example/v2",
  "https://acme.my.salesforce.example/services",
  "https://acme.sandbox.my.salesforce.example/",
];
const refused = [
  ["another scheme", "http://crm.test:8443/v1"],
  ["a scheme in the path", "ftp://api.crm.example/https://api.crm.example/"],
  ["another port of a setting's host", "https://crm.test/v1"],
  ["another port of a listed host", "https://api.crm.example:8443/"],
  ["another port of a pattern's host", "https://acme.my.salesforce.example:8443/"],
  ["a user name", "https://api.crm.example@evil.example/"],
  ["a user name before an allowed host", "https://evil@api.crm.example/"],
  ["a password", "https://u:p@api.crm.example/"],
  ["a host that ends like a setting's", "https://xcrm.test:8443/"],
  ["a host that starts like a setting's", "https://crm.test.evil.example/"],
  ["a host that starts like a listed one", "https://api.crm.example.evil.example/"],
  ["a host under a listed one", "https://x.api.crm.example/"],
  ["the pattern's parent", "https://my.salesforce.example/"],
  ["a host that ends like the pattern", "https://evilmy.salesforce.example/"],
  ["nothing before the pattern", "https://.my.salesforce.example/"],
  ["nothing between dots", "https://acme..my.salesforce.example/"],
  ["a pattern in the path", "https://evil.example/.my.salesforce.example"],
  ["a dot after the host", "https://api.crm.example./"],
  ["a setting that is no URL", "https://evil.example/"],
  ["a line break before the host", "https://\nevil.example/"],
  ["a backslash", "https://evil.example\\@api.crm.example/"],
  ["no slashes", "https:api.crm.example"],
  ["no scheme", "//api.crm.example/"],
  ["a space before it", " https://api.crm.example/"],
  ["no URL", "api.crm.example"],
  ["nothing", ""],
] as const;

test("a recipe may reach the hosts in its settings and secrets, with their ports, and its patterns", () => {
  for (const url of allowed) assert.equal(isAllowedHost(url, configured), true, url);
});

for (const [what, url] of refused) {
  test(`a URL with ${what} is not allowed`, () => assert.equal(isAllowedHost(url, configured), false));
}

test("a value at the end of a setting cannot change the host", () => {
  const ends = [
    ".evil.example/",
    "@evil.example/",
    ":443/",
    ":pw@evil.example/",
    "evil.example",
  ];
  for (const end of ends) {
    assert.equal(isAllowedHost(`https://crm.test:8443${end}`, configured), false, end);
  }
});
