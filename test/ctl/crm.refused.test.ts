import assert from "node:assert/strict";
import { test } from "node:test";
import { file, openCrmFixture, otherToken, own, token, tokenFile, word } from "../support/ctl/crm.ts";

const { fixture, run, route, freshTenant, pipedriveTenant, stored, assertNoSecret } = await openCrmFixture();
await fixture.addTenant("box", { sandbox: true });

const longSecret = word.repeat(3_000);
const crmFile = (name: string, content: unknown) => ["--crm", file(name, content), "--secret", tokenFile()];

/** Input that is refused: what is wrong with it, the options, the exit status, and the message. */
const refused:
  readonly (readonly [what: string, options: () => readonly string[], code: number, message: RegExp])[] = [
    [
      "a misspelled recipe",
      () => ["--crm", "hubsopt"],
      1,
      /^--crm must be a recipe's name or an existing recipe file \(…\/NAME\.json\): hubsopt; did you mean hubspot\?$/m,
    ],
    ["an unknown recipe", () => ["--crm", "sugar"], 1, /: sugar; ctl crm list shows the recipes$/m],
    [
      "a file that does not exist",
      () => ["--crm", "./none.json"],
      1,
      /^The file \.\/none\.json does not exist$/m,
    ],
    [
      "a webhook's address without its scheme that ends as a file",
      () => ["--crm", `hooks.example/catch/${word}.json`],
      1,
      /^--crm must be a recipe's name or an existing recipe file/m,
    ],
    [
      "a webhook's address without its scheme",
      () => ["--crm", `hooks.example/catch/${word}`],
      1,
      /^--crm must be a recipe's name or an existing recipe file \(…\/NAME\.json\); ctl crm list/m,
    ],
    [
      "a secret as the recipe",
      () => ["--crm", otherToken],
      1,
      /^--crm must be a recipe's name or an existing recipe file \(…\/NAME\.json\); ctl crm list/m,
    ],
    [
      "an endless file as the recipe",
      () => ["--crm", "/dev/zero"],
      1,
      /^ {2}The recipe is longer than 65536 bytes$/m,
    ],
    ["a folder as the file", () => ["--crm", "./docs"], 1, /^\.\/docs cannot be read \(EISDIR\)$/m],
    [
      "a webhook's address as the recipe",
      () => ["--crm", `https://hooks.example/${word}`],
      2,
      /^--crm must be a recipe, not an address; --crm-url sets a signed webhook, --crm webhook_json --secret url=FILE any other$/m,
    ],
    [
      "a recipe that is not JSON",
      () => ["--crm", file("bad.json", `{\n  "title": ${word}\n}`)],
      1,
      /bad\.json is not a valid recipe; nothing was changed:\n {2}The recipe is not JSON: line 2, column 12: text without double quotes$/m,
    ],
    [
      "a secret's file as the recipe",
      () => ["--crm", file("token.json", token)],
      1,
      /^ {2}The recipe is not JSON: line 1, column 1: /m,
    ],
    [
      "an unknown member and a missing one",
      () => ["--crm", file("bad.json", { ...own({ retries: 1 }), title: undefined })],
      1,
      /^ {2}retries is unknown; known are title, .*\n {2}title is missing$/m,
    ],
    [
      "an expression that does not parse",
      () => ["--crm", file("bad.json", own({}, { json: "{ 'id': event_id" }))],
      1,
      /^ {2}step post, json: Expected "}" before end of expression \(at character 16\)$/m,
    ],
    [
      "an unknown setting in an expression",
      () => ["--crm", file("bad.json", own({}, { url: "settings.base & '/leads'" }))],
      1,
      /^ {2}step post, url: settings\.base is unknown \(at character 13\); known are base_url, owner$/m,
    ],
    [
      "a secret in a body",
      () => ["--crm", file("bad.json", own({}, { json: "{ 'key': secrets.token }" }))],
      1,
      /^ {2}step post, json: only url and headers may use secrets$/m,
    ],
    [
      "an expression that fails on the samples",
      () => crmFile("bad.json", own({}, { json: "{ 'n': $number(person.full_name) }" })),
      1,
      /^The recipe bad was not set; nothing was changed:\n {2}step post, json: \$number needs a number \(at character 15\) \(with a sample lead and a sample form\)\n$/,
    ],
    [
      "an expression that quotes a secret when it fails",
      () => crmFile("bad.json", own({}, { headers: { "X-N": "$toMillis(secrets.token)" } })),
      1,
      /^ {2}step post, headers\.X-N: .* Given "\*\*\*"/m,
    ],
    [
      "an outcome that does not exist",
      () => crmFile("bad.json", own({}, { outcome: "status = 409 ? 'ok'" })),
      1,
      /^ {2}step post, outcome must be next, done, retry, refused or unauthorized, not 'ok' \(with/m,
    ],
    [
      "a host that is not allowed",
      () => crmFile("bad.json", own({}, { url: `'https://evil.example/${word}'` })),
      1,
      /^ {2}step post, url: the recipe may not reach https:\/\/evil\.example; name the host in a setting or in hosts, with https/m,
    ],
    [
      "a step over plain HTTP",
      () => crmFile("bad.json", own({}, { url: "'http://api.crm.example/'" })),
      1,
      /^ {2}step post, url: the recipe may not reach http:\/\/api\.crm\.example; /m,
    ],
    [
      "a missing secret",
      () => ["--crm", "hubspot"],
      1,
      /^The recipe hubspot was not set; nothing was changed:\n {2}token is missing: --secret token=… \(Development > Keys/m,
    ],
    [
      "a missing setting",
      () => ["--crm", "gohighlevel", "--secret", tokenFile()],
      1,
      /^ {2}location_id is missing: --set location_id=… \(/m,
    ],
    [
      "an empty file as a secret",
      () => ["--secret", `token=${file("empty", " \n")}`],
      1,
      /^--secret token=FILE: the file is empty\n$/,
    ],
    [
      "a secret that is not UTF-8",
      () => ["--secret", `token=${file("latin1", Buffer.from(`${token}\xe9`, "latin1"))}`],
      1,
      /^--secret token=FILE: the file is not UTF-8\n$/,
    ],
    [
      "a secret that no header can have",
      () => ["--secret", `token=${file("euro", `${token}€`)}`],
      1,
      /^ {2}token contains a character that a header cannot have$/m,
    ],
    [
      "a setting that is not a number",
      () => ["--set", "owner_id=ada"],
      1,
      /^ {2}owner_id must be a number\n$/m,
    ],
    [
      "a value that a setting does not have",
      () => ["--crm", "salesforce_web_to_lead", "--set", "oid=00D1", "--set", "state_codes=true"],
      1,
      /^The recipe salesforce_web_to_lead was not set; nothing was changed:\n {2}state_codes must be yes or no\n$/,
    ],
    [
      "a header that the lead's name does not fit in",
      () => crmFile("bad.json", own({}, { headers: { "X-Name": "person.full_name" } })),
      1,
      /^ {2}step post, headers\.X-Name: must be Latin-1 on one line, also for the name Łukasz \(with/m,
    ],
    [
      "a required secret that is removed",
      () => ["--secret", "token="],
      1,
      /^The recipe pipedrive was not set; nothing was changed:\n {2}token is missing: /m,
    ],
    [
      "an unknown setting",
      () => ["--set", "owner=12"],
      1,
      /^ {2}owner is not a setting of this recipe; its settings are token, owner_id, label_id, base_url$/m,
    ],
    [
      "a secret in --set",
      () => ["--set", `token=${otherToken}`],
      1,
      /^ {2}token is a secret; pass it in a file: --secret token=FILE, or --secret token=- for standard input$/m,
    ],
    [
      "a setting in --secret",
      () => ["--secret", `owner_id=${file("owner", "12")}`],
      1,
      /^ {2}owner_id is not a secret; pass it with --set owner_id=VALUE$/m,
    ],
    ["a setting without a value", () => ["--set", otherToken], 2, /^--set must be NAME=VALUE$/m],
    [
      "a secret without a name",
      () => ["--secret", otherToken],
      2,
      /^--secret must be NAME=FILE, or NAME=-$/m,
    ],
    [
      "a secret's text in place of its file",
      () => ["--secret", `token=${otherToken}`],
      1,
      /^--secret token=FILE: the file cannot be read \(ENOENT\); give a file, or - for standard input$/m,
    ],
    ["a secret's text after its name", () => ["--secret", "token", otherToken], 2, /^Unexpected argument$/m],
    [
      "a secret given twice",
      () => ["--secret", tokenFile(), "--secret", tokenFile()],
      2,
      /^--secret token is given twice$/m,
    ],
    [
      "a setting given twice",
      () => ["--set", "owner_id=1", "--set", "owner_id=2"],
      2,
      /^--set owner_id is given twice$/m,
    ],
    [
      "two secrets from standard input",
      () => ["--secret", "token=-", "--secret", "other=-"],
      2,
      /^Only one --secret can be read from standard input \(-\)$/m,
    ],
    [
      "a secret of two lines",
      () => ["--secret", `token=${file("lines", `${token}\n${otherToken}\n`)}`],
      1,
      /^ {2}token contains a control character or more than one line$/m,
    ],
    [
      "a secret with an invisible character",
      () => ["--secret", `token=${file("invisible", `${token}\u200b`)}`],
      1,
      /^ {2}token contains an invisible character$/m,
    ],
    [
      "a secret over the maximum length",
      () => ["--secret", `token=${file("long", longSecret)}`],
      1,
      /^--secret token=FILE: the file is longer than 16384 bytes$/m,
    ],
    [
      "an endless file as a secret",
      () => ["--secret", "token=/dev/zero"],
      1,
      /^--secret token=FILE: the file is longer than 16384 bytes$/m,
    ],
    [
      "an address that is not https",
      () => ["--set", "base_url=http://api.crm.example"],
      1,
      /^ {2}base_url must be an https URL without a user name, a fragment or spaces$/m,
    ],
    [
      "an address with a password",
      () => ["--set", `base_url=https://u:${word}@api.crm.example`],
      1,
      /^ {2}base_url must be an https URL without a user name, a fragment or spaces$/m,
    ],
    [
      "--crm none with a setting",
      () => ["--crm", "none", "--set", "owner_id=1"],
      2,
      /^--crm none cannot be combined with --set or --secret$/m,
    ],
    [
      "a recipe and a webhook",
      () => ["--crm", "hubspot", "--crm-url", "https://a.example/"],
      2,
      /^--crm cannot be combined with --crm-url or --clear crm; a scope has one CRM route$/m,
    ],
    [
      "a recipe that is set and cleared",
      () => ["--crm", "hubspot", "--clear", "crm"],
      2,
      /^--crm cannot be combined with --crm-url or --clear crm/m,
    ],
    [
      "a setting of a recipe that is cleared",
      () => ["--set", "owner_id=1", "--clear", "crm"],
      2,
      /^--crm, --set and --secret cannot be combined with --crm-url, --clear crm or --rotate-secret$/m,
    ],
    [
      "a secret and a new signing secret",
      () => ["--secret", tokenFile(), "--rotate-secret"],
      2,
      /^--crm, --set and --secret cannot be combined/m,
    ],
    [
      "--crm none and a new signing secret",
      () => ["--crm", "none", "--rotate-secret"],
      2,
      /^--rotate-secret cannot be combined with an option that stops sending to CRM$/m,
    ],
    [
      "a signing secret of a recipe",
      () => ["--rotate-secret"],
      1,
      /^A CRM recipe has no signing secret; --secret NAME=FILE changes the recipe's own secrets$/m,
    ],
    [
      "a valid email address with an invalid recipe",
      () => ["--email", "a@b.example", "--crm", "hubspot"],
      1,
      /token is missing/,
    ],
    [
      "a valid setting with an invalid one",
      () => ["--set", "owner_id=1", "--set", "base_url=x"],
      1,
      /^ {2}base_url must be an https URL without a user name, a fragment or spaces$/m,
    ],
    [
      "a test and a change",
      () => ["--test", "--set", "owner_id=1"],
      2,
      /^--test cannot be combined with a change$/m,
    ],
    ["a dry run without a test", () => ["--dry-run"], 2, /^--dry-run needs --test$/m],
    [
      "an event without a dry run",
      () => ["--test", "--event", "e1"],
      2,
      /^--event needs --test --dry-run; ctl lead send-again sends a stored event again$/m,
    ],
  ];
/** The tenant of the refused input. */
let slug: string | undefined;
for (const [what, options, code, message] of refused) {
  test(`${what} is refused, names its place, and changes nothing`, async () => {
    slug ??= await pipedriveTenant();
    const before = await stored(slug);
    const outcome = await run(["tenant", "route", slug, ...options(), "--json"]);
    assert.deepEqual([outcome.code, outcome.stdout], [code, ""], outcome.stderr);
    assert.match(outcome.stderr, message);
    // Only options that are wrong show the usage.
    assert.equal(/^Usage: /m.test(outcome.stderr), code === 2);
    assert.doesNotMatch(outcome.stderr, new RegExp(word));
    assert.deepEqual(await stored(slug), before);
  });
}
test("a recipe is refused for an unknown tenant and for a sandbox, and nothing is stored", async () => {
  const args = ["--crm", "pipedrive", "--secret", tokenFile()];
  const unknown = await run(["tenant", "route", "nobody", ...args]);
  assert.deepEqual([unknown.code, unknown.stderr], [
    1,
    "There is no tenant nobody; ctl tenant list shows them, ctl tenant add nobody adds it\n",
  ]);
  const sandbox = await run(["tenant", "route", "box", ...args]);
  assert.match(sandbox.stderr, /^Tenant box is a sandbox: /);
  assert.deepEqual([sandbox.code, (await stored("box")).routes], [1, []]);
});

test("--set on a webhook and on no route is refused", async () => {
  const slug = await freshTenant();
  const message = "There is no CRM recipe to change here; --crm NAME sets one\n";
  const none = await run(["tenant", "route", slug, "--set", "owner_id=1"]);
  assert.deepEqual([none.code, none.stderr], [1, message]);
  await route(slug, "--crm-url", "https://crm.example.com/leads");
  const before = await stored(slug);
  const hook = await run(["tenant", "route", slug, "--secret", tokenFile()]);
  assert.deepEqual([hook.code, hook.stderr], [1, message]);
  assert.deepEqual(await stored(slug), before);
});

test("no secret is printed, logged or audited", async () => await assertNoSecret());
