import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { Expressions } from "../../src/actions/crm/expressions.ts";
import { clocks } from "../../src/process/deadline_thread.ts";
import { configure, type Recipe } from "../../src/actions/crm/recipe.ts";
import { shippedNames, shippedRecipe } from "../../src/actions/crm/shipped.ts";
import { expressionInput } from "../../src/actions/crm/input.ts";
import { sampleEvent } from "../../src/actions/sample.ts";
import { checkSamples, checkSettings, checkSyntax } from "../../src/ctl/recipe_check.ts";
import { noEarlierPosts } from "../../src/store/delivery/earlier_posts.ts";
import { readKeptNames } from "../../src/actions/recipe_syntax.ts";
import {
  credentialOf,
  parseRecipe,
  receiverOf,
  recipeBounds,
  versionOf,
} from "../../src/ctl/recipe_format.ts";

const expressions = new Expressions(clocks);
after(() => expressions.close());

type Json = Readonly<Record<string, unknown>>;

const step = {
  name: "contact",
  method: "POST",
  url: "settings.base_url & '/contacts'",
  json: "{ 'id': event_id, 'name': person.full_name }",
};
const sound = {
  title: "Example CRM",
  settings: {
    token: { secret: true, about: "the token" },
    base_url: { default: "https://api.crm.example", about: "the address" },
    owner: { optional: true, about: "the owner" },
  },
  auth: { kind: "bearer", token: "token" },
  rate: { requests: 90, seconds: 10 },
  hosts: ["*.crm.example"],
  steps: [step],
};
const oauth = { kind: "oauth2_client_credentials", token_url: "a", client_id: "b", client_secret: "token" };

function parsed(value: unknown): Recipe {
  const result = parseRecipe(JSON.stringify(value));
  if ("faults" in result) throw new Error(result.faults.join("\n"));
  return result.recipe;
}

function faultsOf(text: string): readonly string[] {
  const result = parseRecipe(text);
  return "faults" in result ? result.faults : [];
}

const withStep = (more: Json) => parsed({ ...sound, steps: [{ ...step, ...more }] });

test("a recipe file has a version that changes with its content, not with its layout", () => {
  const version = (text: string) => {
    const result = parseRecipe(text);
    return "faults" in result ? null : versionOf(result.recipe);
  };
  assert.match(version(JSON.stringify(sound)) ?? "", /^[0-9a-f]{12}$/);
  assert.equal(version(JSON.stringify(sound)), version(JSON.stringify(sound, null, 4)));
  assert.equal(version(JSON.stringify(sound)), version(`\ufeff${JSON.stringify(sound)}`));
  assert.notEqual(
    version(JSON.stringify(sound)),
    version(JSON.stringify({ ...sound, title: "Another CRM" })),
  );
});

const { steps: _steps, ...withoutSteps } = sound;
const { title: _title, ...withoutTitle } = sound;
const { method: _method, ...withoutMethod } = step;
const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...step, name: `s${index}` }));

const faulty: readonly (readonly [string, unknown, ...string[]])[] = [
  [
    "an unknown member",
    { ...sound, retries: 3 },
    "retries is unknown; known are title, settings, auth, steps, checked, unconfirmed, hosts, rate",
  ],
  [
    "an unknown member of a step",
    { ...sound, steps: [{ ...step, body: "{}" }] },
    "steps[0].body is unknown; known are name, method, url, always, when, headers, json, form, outcome, keep",
  ],
  [
    "an unknown member of a setting",
    { ...sound, settings: { ...sound.settings, token: { about: "x", hidden: true } } },
    "settings.token.hidden is unknown; known are about, secret, optional, default, values, number",
  ],
  [
    "an unknown member of the authentication",
    { ...sound, auth: { kind: "bearer", token: "token", scheme: "Token" } },
    "auth.scheme is unknown; known are kind, token",
  ],
  ["a member named __proto__", JSON.parse('{"__proto__":1}'), "__proto__ is unknown", "title is missing"],
  ["no title", withoutTitle, "title is missing"],
  ["no steps", withoutSteps, "steps is missing"],
  ["a step without a method", { ...sound, steps: [step, withoutMethod] }, "steps[1].method is missing"],
  ["a blank title", { ...sound, title: " " }, "title must be a text"],
  ["a number as the title", { ...sound, title: 7 }, "title must be a text"],
  [
    "an expression that is no text",
    { ...sound, steps: [{ ...step, json: {} }] },
    "steps[0].json must be a text",
  ],
  [
    "always that is a text",
    { ...sound, steps: [{ ...step, always: "yes" }] },
    "steps[0].always must be true or false",
  ],
  ["both json and form", { ...sound, steps: [{ ...step, form: "{}" }] }, "steps[0] has both json and form"],
  [
    "a body of a GET",
    { ...sound, steps: [{ ...step, method: "GET" }] },
    "steps[0] has a body, but GET requests have none",
  ],
  [
    "an unknown method",
    { ...sound, steps: [step, { ...step, name: "second", method: "post" }] },
    "steps[1].method must be GET, POST, PUT, PATCH or DELETE",
  ],
  [
    "a step's name with a space",
    { ...sound, steps: [{ ...step, name: "a b" }] },
    "steps[0].name must be a name of a-z, 0-9 and _",
  ],
  ["no step at all", { ...sound, steps: [] }, "steps must be a list of 1 to 8 steps"],
  [
    "too many steps",
    { ...sound, steps: many(recipeBounds.stepsMax + 1) },
    "steps must be a list of 1 to 8 steps",
  ],
  ["steps that are no list", { ...sound, steps: step }, "steps must be a list of 1 to 8 steps"],
  ["a step that is no object", { ...sound, steps: ["POST"] }, "steps[0] must be an object"],
  ["a name used twice", { ...sound, steps: [step, step] }, "steps[1].name is used twice"],
  [
    "too many settings",
    {
      ...sound,
      settings: {
        ...sound.settings,
        ...Object.fromEntries(
          Array.from({ length: recipeBounds.settingsMax }, (_, index) => [`s${index}`, { about: "x" }]),
        ),
      },
    },
    "settings has more than 40 members",
  ],
  [
    "a setting with a hyphen",
    { ...sound, settings: { ...sound.settings, "base-url": { about: "x" } } },
    "settings.base-url cannot have this name; use a-z, 0-9 and _, such as base_url",
  ],
  [
    "a setting named as a member of every object",
    { ...sound, settings: { ...sound.settings, constructor: { about: "x" } } },
    "settings.constructor cannot have this name",
  ],
  [
    "a setting named __proto__",
    { ...sound, settings: JSON.parse('{"__proto__":{"about":"x"}}') },
    "settings.__proto__ cannot have this name",
  ],
  [
    "values that are no list",
    { ...sound, settings: { ...sound.settings, owner: { about: "x", values: "yes" } } },
    "settings.owner.values must be a list of texts",
  ],
  [
    "no values",
    { ...sound, settings: { ...sound.settings, owner: { about: "x", values: [] } } },
    "settings.owner.values must be a list of texts",
  ],
  [
    "values that are no texts",
    { ...sound, settings: { ...sound.settings, owner: { about: "x", values: [true, false] } } },
    "settings.owner.values must be a list of texts",
  ],
  [
    "a number that is a text",
    { ...sound, settings: { ...sound.settings, owner: { about: "x", number: "yes" } } },
    "settings.owner.number must be true or false",
  ],
  [
    "authentication with an optional setting",
    { ...sound, settings: { ...sound.settings, token: { secret: true, optional: true, about: "x" } } },
    "settings.token cannot be optional, because auth.token needs it",
  ],
  [
    "a scope that is no setting's name",
    { ...sound, auth: { ...oauth, scope: "api offline_access" } },
    "auth.scope must be the name of a setting",
  ],
  [
    "a setting without its explanation",
    { ...sound, settings: { ...sound.settings, owner: {} } },
    "settings.owner.about is missing",
  ],
  [
    "a secret with a default",
    { ...sound, settings: { ...sound.settings, token: { secret: true, default: "x", about: "x" } } },
    "settings.token is a secret, so it cannot have a default",
  ],
  [
    "authentication with an unknown setting",
    { ...sound, auth: { kind: "bearer", token: "key" } },
    "auth.token names the setting key, which is not in settings",
  ],
  [
    "OAuth with two unknown settings",
    { ...sound, auth: oauth },
    "auth.token_url names the setting a, which is not in settings",
    "auth.client_id names the setting b, which is not in settings",
  ],
  [
    "a refresh token that is missing",
    { ...sound, auth: { ...oauth, kind: "oauth2_refresh_token" } },
    "auth.refresh_token is missing",
  ],
  [
    "an unknown kind of authentication",
    { ...sound, auth: { kind: "digest" } },
    "auth.kind must be one of none, bearer",
  ],
  [
    "authentication named constructor",
    { ...sound, auth: { kind: "constructor" } },
    "auth.kind must be one of",
  ],
  [
    "a client authentication that is neither basic nor body",
    { ...sound, auth: { ...oauth, client_auth: "jwt" } },
    "auth.client_auth must be basic or body",
  ],
  [
    "the Host header as authentication",
    { ...sound, auth: { kind: "header", name: "Host", value: "token" } },
    "auth.name: the header Host cannot be set",
  ],
  [
    "a header's name with a line break",
    { ...sound, auth: { kind: "header", name: "X\r\nHost", value: "token" } },
    "auth.name must be the name of a header",
  ],
  [
    "a reserved header",
    { ...sound, steps: [{ ...step, headers: { "content-LENGTH": "'1'" } }] },
    "steps[0].headers.content-LENGTH cannot be set",
  ],
  ...["TE", "upgrade", "Trailer", "Keep-Alive", "proxy-authorization"].map((header) =>
    [
      `the header ${header}`,
      { ...sound, steps: [{ ...step, headers: { [header]: "'x'" } }] },
      `steps[0].headers.${header} cannot be set`,
    ] as const
  ),
  [
    "the header of its authentication",
    {
      ...sound,
      auth: { kind: "header", name: "X-Key", value: "token" },
      steps: [{ ...step, headers: { "x-KEY": "'x'" } }],
    },
    "steps[0].headers.x-KEY cannot be set; auth sets it",
  ],
  [
    "an Authorization header besides auth",
    { ...sound, steps: [{ ...step, headers: { Authorization: "secrets.token" } }] },
    "steps[0].headers.Authorization cannot be set",
  ],
  [
    "a header that is no text",
    { ...sound, steps: [{ ...step, headers: { "X-Version": 2 } }] },
    "steps[0].headers.X-Version must be a text",
  ],
  [
    "headers that are a list",
    { ...sound, steps: [{ ...step, headers: [] }] },
    "steps[0].headers must be an object",
  ],
  ["a rate of zero", { ...sound, rate: { requests: 0, seconds: 1 } }, "rate must be {"],
  ["a rate of half a request", { ...sound, rate: { requests: 0.5, seconds: 1 } }, "rate must be {"],
  ["a rate for two hours", { ...sound, rate: { requests: 1, seconds: 7_200 } }, "rate must be {"],
  ["a rate with a burst", { ...sound, rate: { requests: 1, seconds: 1, burst: 2 } }, "rate must be {"],
  ["a rate that is a text", { ...sound, rate: "90/10" }, "rate must be {"],
  ["one host instead of a list", { ...sound, hosts: "crm.example" }, "hosts must be a list of host names"],
  ["a URL as a host", { ...sound, hosts: ["https://crm.example"] }, "hosts must be a list of host names"],
  ["every host", { ...sound, hosts: ["*"] }, "hosts must be a list of host names"],
  ["every host of a top-level domain", { ...sound, hosts: ["*.com"] }, "hosts must be a list of host names"],
  ["a star within a host", { ...sound, hosts: ["api.*.example"] }, "hosts must be a list of host names"],
  ["a host with a port", { ...sound, hosts: ["crm.example:8443"] }, "hosts must be a list of host names"],
  ["a list", [sound], "The recipe must be an object"],
  ["null", null, "The recipe must be an object"],
];
for (const [what, value, ...messages] of faulty) {
  test(`a recipe with ${what} is refused, and the message names the member`, () => {
    const faults = faultsOf(JSON.stringify(value));
    for (const message of messages) {
      assert.ok(faults.some((fault) => fault.startsWith(message)), `${message}: ${faults.join("; ")}`);
    }
  });
}

test("all faults of a recipe are reported at once", () => {
  const { faults } = parseRecipe(
    JSON.stringify({ ...withoutTitle, retries: 3, rate: 1, steps: [{ ...withoutMethod, body: "" }] }),
  ) as { faults: string[] };
  const members = faults.map((fault) => fault.split(" ")[0]);
  assert.deepEqual(members.sort(), ["rate", "retries", "steps[0].body", "steps[0].method", "title"]);
});

test("a recipe that is not JSON is refused with the line and column, without its text", () => {
  assert.deepEqual(faultsOf('{\n  "title": "x",\n  "token": s3cr3t\n}'), [
    "The recipe is not JSON: line 3, column 12: text without double quotes",
  ]);
  assert.deepEqual(faultsOf('{ "title": "x", }'), [
    "The recipe is not JSON: line 1, column 15: a trailing comma; remove it",
  ]);
  for (const text of ["", "pat-na1-s3cr3t", "[".repeat(60_000), '{"title": "s3cr3t']) {
    const [fault = "", ...others] = faultsOf(text);
    assert.deepEqual(others, []);
    assert.match(fault, /^The recipe is not JSON: line 1, column \d+: /);
    assert.doesNotMatch(fault, /s3cr3t/);
  }
});

test("a recipe may have 65,536 bytes, and not one more", () => {
  const text = JSON.stringify(sound);
  const padded = text + " ".repeat(recipeBounds.textBytesMax - text.length);
  assert.deepEqual(faultsOf(padded), []);
  assert.deepEqual(faultsOf(`${padded} `), ["The recipe is longer than 65536 bytes"]);
  // Two bytes each.
  assert.deepEqual(faultsOf(JSON.stringify({ ...sound, title: "é".repeat(32_768) })), [
    "The recipe is longer than 65536 bytes",
  ]);
});

/** The member with a faulty expression, the expression, and the start of the message. */
const badExpressions: readonly (readonly [string, string, string])[] = [
  [
    "json",
    "{ 'id': }",
    'step contact, json: The symbol "}" cannot be used as a unary operator (at character 9)',
  ],
  ["json", "{ 'id': event_id", 'step contact, json: Expected "}" before end of expression (at character 16)'],
  ["url", "settings.base_url &", "step contact, url: Unexpected end of expression (at character 19)"],
  ["when", "$exists(person.email", "step contact, when: Expected"],
  ["outcome", "status = 409 ? 'next", "step contact, outcome: String literal must be terminated"],
  ["keep", "{ 'id': body.id ]", "step contact, keep: Expected"],
  [
    "json",
    "{ 'owner': settings.ownr }",
    "step contact, json: settings.ownr is unknown (at character 24); known are base_url, owner",
  ],
  ["json", "{ 'x': settings.token }", "step contact, json: settings.token is unknown"],
  ["url", "secrets.key", "step contact, url: secrets.key is unknown (at character 11); known are token"],
  ["url", "secrets.owner", "step contact, url: secrets.owner is unknown"],
  [
    "json",
    "{ 'name': person.fullname }",
    "step contact, json: person.fullname is unknown (at character 25); known are first_name, last_name, full_name",
  ],
  [
    "json",
    "{ 'first': persn.first_name }",
    "step contact, json: persn is unknown (at character 16); known are event_id, kind, tenant, ",
  ],
  ["json", "$cut(leads.city, 9)", "step contact, json: leads is unknown (at character 10)"],
  ["json", "( $name := [persn][0]; { 'a': $name } )", "step contact, json: persn is unknown"],
  ["json", "$map([1], function($x) { $x & evnt_id })", "step contact, json: evnt_id is unknown"],
  ["json", "(persn ~> $string()).x[y = 1]{ z: 1 }", "step contact, json: persn is unknown"],
  ["json", "{ 'status': status }", "step contact, json: status is unknown"],
  ["when", "body.id = 1", "step contact, when: body is unknown"],
  [
    "url",
    "setting.base_url",
    "step contact, url: setting is unknown (at character 7); known are event_id, kind, tenant, source, campaign, received_at, lead, submission, extra, flags, attribution, is_test, settings, kept, token, person, summary, secrets",
  ],
  ["outcome", "stats = 409 ? 'done'", "step contact, outcome: stats is unknown"],
  ["json", "{ 'a': [lead.{ 'b': $uppercase(person.mail) }] }", "step contact, json: person.mail is unknown"],
  [
    "json",
    "{ 'id': kept.contact_id }",
    "step contact, json: kept.contact_id is unknown (at character 23); known are none",
  ],
  ["json", "{ 'token': secrets.token }", "step contact, json: only url and headers may use secrets"],
  ["form", "{ 'token': $string(secrets) }", "step contact, form: only url and headers may use secrets"],
  ["when", "secrets.token = 'x'", "step contact, when: only url and headers may use secrets"],
  ["outcome", "body = secrets.token ? 'next'", "step contact, outcome: only url and headers may use secrets"],
  ["keep", "{ 't': secrets.token }", "step contact, keep: only url and headers may use secrets"],
  ["json", "{ 'at': $now() }", "step contact, json: $now is not available; a retry must send the same"],
  ["json", "{ 'at': $millis() }", "step contact, json: $millis is not available"],
  ["json", "{ 'n': $random() }", "step contact, json: $random is not available"],
  ["json", "{ 'n': $shuffle([1, 2]) }", "step contact, json: $shuffle is not available"],
  ["json", "{ 'n': $eval('1') }", "step contact, json: $eval is not available"],
  ["json", "( $f := $now; { 'at': $f() } )", "step contact, json: $now is not available"],
  ["json", "{ 'at': [1, 2] ~> $map($random) }", "step contact, json: $random is not available"],
  ["keep", "body.id", "step contact, keep: it must be an object with literal names, { 'name': … }"],
  ["keep", "[{ 'id': body.id }]", "step contact, keep: it must be an object with literal names"],
  ["keep", "{ body.name: body.id }", "step contact, keep: it must be an object with literal names"],
];
for (const [member, text, message] of badExpressions) {
  test(`${member} ${text} is refused with its place`, () => {
    const body = member === "form" ? { json: undefined, form: text } : { [member]: text };
    const faults = checkSyntax(withStep(body));
    assert.ok(faults.some((fault) => fault.startsWith(message)), faults.join("; "));
  });
}

test("expressions may use settings, secrets in url and headers, the person, and what this and earlier steps keep", () => {
  const recipe = parsed({
    ...sound,
    steps: [
      {
        ...step,
        url: "settings.base_url & '/contacts?key=' & $encodeUrlComponent(secrets.token)",
        headers: { "X-Key": "secrets.token" },
        outcome: "status = 409 and $exists(kept.contact_id) ? 'next'",
        keep: "{ 'contact_id': body.id }",
      },
      {
        ...step,
        name: "note",
        url: "settings.base_url & '/' & kept.contact_id",
        when: "$exists(kept.contact_id)",
      },
    ],
  });
  assert.deepEqual(checkSyntax(recipe), []);
});

test("names that are relative to another value are not checked", () => {
  for (
    const json of [
      "lead.{ 'area': project_area, 'also': [city, zip] }",
      "extra.items[price > 10 and $exists(name)].(name & other)",
      "extra.items^(>price, name){ name: $sum(price) }",
      "extra ~> | items | { 'price': cost * 2 }, 'name' |",
      "[extra.items][kind_of = 'a'].$uppercase(label)",
      "extra.items@$item.details[$item.id = id]",
      "extra.*.size & extra.**.unit & $$.anything",
      "( $names := extra.names; $map($names, function($one) { $one.first }) )",
    ]
  ) assert.deepEqual(checkSyntax(withStep({ json })), [], json);
});

test("every name of the input is known", () => {
  const names = ["", "contact"].flatMap((form) =>
    Object.keys(expressionInput({
      event: { ...sampleEvent({ tenant: "sample", source: "sample", form }, 0), campaign: "spring" },
      tenant: { slug: "sample", name: "Sample", timeZone: "UTC" },
      isTest: true,
      earlier: noEarlierPosts,
    }))
  );
  const json = `[${[...names, "settings", "kept", "token"].join(", ")}]`;
  assert.deepEqual(checkSyntax(withStep({ json, outcome: "[status, headers, body].x" })), []);
});

test("a value that only a later step keeps is unknown, except to a step that always runs", () => {
  const recipe = (more: Json) =>
    parsed({
      ...sound,
      steps: [
        { ...step, when: "$exists(kept.note_id)", ...more },
        { ...step, name: "note", keep: "{ 'note_id': body.id }" },
      ],
    });
  assert.deepEqual(checkSyntax(recipe({ always: true })), []);
  assert.deepEqual(checkSyntax(recipe({})), [
    "step contact, when: kept.note_id is unknown (at character 20); known are none",
  ]);
});

const given = { settings: {}, secrets: { token: "s3cr3t-t0ken" } };

/** Evaluates the recipe with the samples, and returns the faults. */
function checked(recipe: Recipe, values: typeof given = given): Promise<string[]> {
  const credential = credentialOf(recipe, values);
  return checkSamples(configure(recipe, { ...values, credential }), expressions);
}

test("a sound recipe passes the check with a sample lead and a sample form", async () => {
  assert.deepEqual(await checked(parsed(sound)), []);
});

const failing: readonly (readonly [string, Json, RegExp])[] = [
  [
    "json",
    { json: "{ 'zip': $number(person.full_name) }" },
    /^step contact, json: \$number needs a number \(at character \d+\) \(with a sample lead and a sample form\)$/,
  ],
  [
    "json",
    { json: "{ 'cents': extra.budget * 100 }" },
    /^step contact, json: The left side of the "\*" operator must evaluate to a number \(at character \d+\) \(with a sample lead and a sample form\)$/,
  ],
  ["json", { json: "{ 'x': $nope(1) }" }, /^step contact, json: Attempted to invoke a non-function/],
  ["when", { when: "$sum('x')" }, /^step contact, when: Argument 1 of function "sum"/],
  ["headers.X-A", { headers: { "X-A": "[1, 2]" } }, /^step contact, headers\.X-A: The value must be a text/],
  ["form", { json: undefined, form: "[1]" }, /^step contact, form: The value must be an object/],
  [
    "form",
    { json: undefined, form: "{ 'a': { 'b': 1 } }" },
    /^step contact, form: The field a must be a text/,
  ],
  [
    "outcome",
    { outcome: "'ok'" },
    /^step contact, outcome must be next, done, retry, refused or unauthorized, not 'ok' \(with/,
  ],
  ["outcome", { outcome: "status = 409 ? 'nxt'" }, /^step contact, outcome must be .*, not 'nxt' \(with/],
  [
    "a header",
    { headers: { "X-Name": "person.full_name" } },
    /^step contact, headers\.X-Name: must be Latin-1 on one line, also for the name Łukasz \(with a sample lead and a sample form\)$/,
  ],
  ["a header", { headers: { "X-Text": "summary" } }, /^step contact, headers\.X-Text: must be Latin-1/],
  [
    "outcome",
    { outcome: "status = 422 ? $nope()" },
    /^step contact, outcome: Attempted to invoke a non-function/,
  ],
  ["outcome", { outcome: "status >= 500 ? { 'a': 1 }" }, /^step contact, outcome: The value must be a text/],
  ["keep", { keep: "{ 'a': $nope(body) }" }, /^step contact, keep: Attempted to invoke a non-function/],
  [
    "url",
    { url: "'http://api.crm.example/'" },
    /^step contact, url: the recipe may not reach http:\/\/api\.crm\.example; name the host in a setting or in hosts, with https/,
  ],
  [
    "url",
    { url: "'https://evil.example/' & secrets.token" },
    /^step contact, url: the recipe may not reach https:\/\/evil\.example; /,
  ],
  [
    "url",
    { url: "'https://' & person.last_name & '.example'" },
    /^step contact, url: the recipe may not reach https:\/\/lead\.example; /,
  ],
  [
    "url",
    { url: "lead.nothing" },
    /^step contact, url is not a URL \(with a sample lead and a sample form\)$/,
  ],
];
for (const [member, more, message] of failing) {
  const expression = JSON.stringify(Object.values(more).findLast((value) => value !== undefined));
  test(`${member} ${expression} is refused by the samples`, async () => {
    const faults = await checked(withStep(more));
    assert.ok(faults.some((fault) => message.test(fault)), faults.join("; "));
    assert.doesNotMatch(faults.join(), /s3cr3t/);
  });
}

test("arithmetic on a number with more digits than a double keeps is accepted with $number", async () => {
  assert.deepEqual(
    await checked(withStep({ json: "{ 'n': extra.budget, 'c': $number(extra.budget) * 100 }" })),
    [],
  );
});

test("a fault that only a form has is found, and says so", async () => {
  const faults = await checked(withStep({ json: "{ 'x': kind = 'form' ? $number(submission.name) }" }));
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? "", /\(with a sample form\)$/);
});

test("an expression that fails with JSON is accepted if it is right for text, and the reverse", async () => {
  const outcome = "$contains(body, 'ERROR') ? 'refused'";
  assert.deepEqual(await checked(withStep({ outcome, keep: "{ 'id': $substringAfter(body, ':') }" })), []);
  assert.deepEqual(await checked(withStep({ outcome: "$exists($keys(body)) ? 'next'" })), []);
});

test("a fault that quotes a secret hides it", async () => {
  for (
    const [text, message] of [["$toMillis(secrets.token)", /Given "\*\*\*"/], [
      "$error(secrets.token)",
      /\*\*\*/,
    ]] as const
  ) {
    const [fault = ""] = await checked(withStep({ headers: { "X-Key": text } }));
    assert.match(fault, /^step contact, headers\.X-Key: /);
    assert.match(fault, message);
    assert.doesNotMatch(fault, /s3cr3t/);
  }
});

test("an expression without an end is refused, and the check ends", async () => {
  const loop = "( $f := function() { $f() }; $f() )";
  for (const member of ["json", "when", "outcome"]) {
    const faults = await checked(withStep({ [member]: loop }));
    assert.ok(faults.some((fault) => /took longer than 250 ms/.test(fault)), faults.join("; "));
  }
});

const settingsRecipe = parsed({
  ...sound,
  settings: {
    ...sound.settings,
    account: { about: "Settings > Account", number: true },
    codes: { optional: true, values: ["yes", "no"], about: "whether the CRM has codes" },
  },
});
const fine = { account: "7" };

const badValues:
  readonly (readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, RegExp])[] =
    [
      ["a missing secret", fine, {}, /^token is missing: --secret token=… \(the token\)$/],
      [
        "a missing setting",
        {},
        { token: "t" },
        /^account is missing: --set account=… \(Settings > Account\)$/,
      ],
      ["a name", { account: "acme" }, { token: "t" }, /^account must be a number$/],
      ["a fraction", { account: "7.5" }, { token: "t" }, /^account must be a number$/],
      ["another value", { ...fine, codes: "true" }, { token: "t" }, /^codes must be yes or no$/],
      [
        "a setting that is too long",
        { ...fine, owner: "x".repeat(1_001) },
        { token: "t" },
        /^owner is longer than 1000 characters$/,
      ],
      [
        "a secret that no header can have",
        fine,
        { token: "s3cr3t-€" },
        /^token contains a character that a header cannot have$/,
      ],
      [
        "an unknown setting",
        { ...fine, acount: "8" },
        { token: "t" },
        /^acount is not a setting of this recipe; its settings are token, base_url, owner, account, codes$/,
      ],
      ["an unknown secret", fine, { token: "t", key: "s3cr3t" }, /^key is not a setting of this recipe/],
      [
        "a secret in --set",
        { ...fine, token: "s3cr3t" },
        {},
        /^token is a secret; pass it in a file: --secret token=FILE, or --secret token=- for standard input$/,
      ],
      [
        "a setting in --secret",
        {},
        { token: "t", account: "7" },
        /^account is not a secret; pass it with --set account=VALUE$/,
      ],
      [
        "plain HTTP",
        { ...fine, base_url: "http://crm.example" },
        { token: "t" },
        /^base_url must be an https URL without a user name, a fragment or spaces$/,
      ],
      [
        "a password in a URL",
        { ...fine, base_url: "https://u:s3cr3t@crm.example" },
        { token: "t" },
        /^base_url must be an https URL without a user name, a fragment or spaces$/,
      ],
      [
        "a fragment in a URL",
        { ...fine, base_url: "https://crm.example/#s3cr3t" },
        { token: "t" },
        /^base_url must be an https URL without a user name, a fragment or spaces$/,
      ],
      [
        "two lines in a secret",
        fine,
        { token: "s3cr3t\nX-Admin: 1" },
        /^token contains a control character or more than one line$/,
      ],
      [
        "a carriage return in a setting",
        { ...fine, account: "7\r8" },
        { token: "t" },
        /^account contains a control character/,
      ],
      [
        "an invisible character in a secret",
        fine,
        { token: "s3cr3t\u200b" },
        /^token contains an invisible character$/,
      ],
    ];
for (const [what, settings, secrets, message] of badValues) {
  test(`${what} is refused without the value`, () => {
    const [fault = "", ...others] = checkSettings(settingsRecipe, { settings, secrets });
    assert.deepEqual(others, []);
    assert.match(fault, message);
    assert.doesNotMatch(fault, /s3cr3t/);
  });
}

test("optional settings and settings with a default may be missing", () => {
  assert.deepEqual(checkSettings(settingsRecipe, { settings: fine, secrets: { token: "t" } }), []);
  assert.deepEqual(
    configure(settingsRecipe, { settings: fine, secrets: { token: "t" }, credential: "" }).settings,
    {
      ...fine,
      base_url: "https://api.crm.example",
    },
  );
});

test("the credential depends on the secrets and the authentication's settings alone, and contains no secret", () => {
  const recipe = parsed({
    ...sound,
    settings: {
      ...sound.settings,
      id: { about: "the id" },
      token_url: { default: "https://crm.example/token", about: "the address" },
    },
    auth: {
      kind: "oauth2_client_credentials",
      token_url: "token_url",
      client_id: "id",
      client_secret: "token",
    },
  });
  const first = { settings: { id: "a", owner: "x" }, secrets: { token: "s3cr3t" } };
  const credential = credentialOf(recipe, first);
  assert.match(credential, /^[0-9a-f]{64}$/);
  assert.equal(credentialOf(recipe, { ...first, settings: { id: "a", owner: "y" } }), credential);
  assert.notEqual(credentialOf(recipe, { ...first, settings: { id: "b" } }), credential);
  assert.notEqual(credentialOf(recipe, { ...first, secrets: { token: "other" } }), credential);
});

test("without secrets and settings that authenticate, the recipe and all its settings are the credential", () => {
  const open = {
    ...sound,
    settings: { base_url: sound.settings.base_url, owner: sound.settings.owner },
    auth: { kind: "none" },
  };
  const of = (recipe: unknown, settings: Readonly<Record<string, string>>) =>
    credentialOf(parsed(recipe), { settings, secrets: {} });
  const credential = of(open, { owner: "x" });
  assert.equal(of(open, { owner: "x" }), credential);
  assert.notEqual(of(open, { owner: "y" }), credential);
  assert.notEqual(of(open, {}), credential);
  assert.notEqual(of({ ...open, title: "Another CRM" }, { owner: "x" }), credential);
  // An optional secret that is not given identifies nobody.
  const optional = {
    ...open,
    settings: { ...sound.settings, token: { secret: true, optional: true, about: "x" } },
  };
  assert.notEqual(of(optional, { owner: "x" }), of(optional, { owner: "y" }));
});

test("a recipe's receiver is its title, its authentication, its hosts and its default addresses, not its steps", () => {
  const receiver = receiverOf(parsed(sound));
  const settings = { ...sound.settings, owner: { optional: true, about: "another text" } };
  assert.equal(receiverOf(parsed({ ...sound, settings, steps: [{ ...step, json: "{}" }] })), receiver);
  const others = [
    { title: "Another CRM" },
    { auth: { kind: "header", name: "X-Key", value: "token" } },
    { hosts: ["*.other.example"] },
    { settings: { ...sound.settings, base_url: { default: "https://other.example", about: "the address" } } },
    { settings: { ...sound.settings, mirror: { default: "https://other.example", about: "an address" } } },
  ];
  for (const other of others) {
    assert.notEqual(receiverOf(parsed({ ...sound, ...other })), receiver, JSON.stringify(other));
  }
});

/** How a step that repeats another's request without the fields that the CRM refused differs from it. */
const repeated: Readonly<Record<string, readonly [step: string, repetition: string]>> = {
  salesforce: ["lead", "lead_without_refused_fields"],
  zoho: ["lead", "lead_without_refused_field"],
};
for (const [name, [first, again]] of Object.entries(repeated)) {
  test(`${again} of ${name} sends the same request as ${first}, and refuses what ${first} sends again`, () => {
    const recipe = shippedRecipe(name) as Recipe;
    const stepOf = (name: string) => recipe.steps.find((one) => one.name === name) as Recipe["steps"][number];
    const { name: _, when, outcome = "", keep = "", ...request } = stepOf(first);
    const { name: __, when: whenAgain, outcome: outcomeAgain = "", keep: keepAgain = "", ...requestAgain } =
      stepOf(again);
    assert.deepEqual(requestAgain, request);
    assert.equal(when, name === "zoho" ? "$not($exists(kept.lead_id))" : undefined);
    assert.equal(whenAgain, "$exists(kept.refused) and $not($exists(kept.lead_id))");
    // Both keep the lead; only the first one also keeps what was refused.
    assert.deepEqual(
      readKeptNames(keepAgain),
      readKeptNames(keep)?.filter((name) => !/^(?:refused|description_max)$/.test(name)),
    );
    assert.ok(keep.startsWith(keepAgain.slice(0, -" }".length)));
    // Only the first one goes on after a field was refused.
    const refusedField = {
      salesforce: / : status = 400 and \$count\(body\.fields\) > 0 and .* \? 'next'$/,
      zoho: / or \(\$lead\.code = 'INVALID_DATA' and [^)]*\)/,
    }[name] as RegExp;
    assert.match(outcome, refusedField);
    assert.equal(outcomeAgain, outcome.replace(refusedField, ""));
  });
}

test("the example of the documentation passes every check", async () => {
  const page = readFileSync(new URL("../../docs/crm.md", import.meta.url), "utf8");
  const [, example = ""] = /^```json\n([^]*?)^```$/m.exec(page) ?? [];
  const recipe = parsed(JSON.parse(example));
  assert.deepEqual([checkSyntax(recipe), await checked(recipe)], [[], []]);
});

for (const name of shippedNames) {
  test(`the shipped recipe ${name} passes every check of an operator's own`, async () => {
    const recipe = shippedRecipe(name) as Recipe;
    assert.deepEqual(checkSyntax(recipe), []);
    const values = (isSecret: boolean) =>
      Object.fromEntries(
        Object.entries(recipe.settings).filter(([, { secret = false }]) => secret === isSecret)
          .map((
            [setting, rule],
          ) => [
            setting,
            rule.default ?? rule.values?.[0] ??
              (/url$/.test(setting) ? "https://a.crm.example/x" : isSecret ? "s3cr3t-t0ken" : "12"),
          ]),
      );
    const full = { settings: values(false), secrets: values(true) };
    assert.deepEqual(checkSettings(recipe, full), []);
    assert.deepEqual(await checked(recipe, full as typeof given), []);
  });
}
