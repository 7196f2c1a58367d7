import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { signatureHeaders } from "../../src/actions/destinations.ts";
import { openFixture } from "../support/actions/fixture.ts";
import { blocksOf, readPages } from "../support/docs/pages.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { type Language, type Received, receivers, verdictsOf } from "../support/docs/receivers.ts";

const languages = Object.keys(receivers) as Language[];
const page = readPages().find(({ path }) => path === "docs/webhooks.md");
assert.ok(page);
const blocks = blocksOf(page);

/** A webhook sent by the actions process, with its secret. */
let genuine: Received;
/** A webhook sent during a rotation, with the old and with the new secret. */
let between: readonly Received[];

before(async () => {
  const fixture = await openFixture();
  const sent = async (): Promise<Received> => {
    await fixture.deliver({
      content: '{"first_name":"Zoë","last_name":"漢字","phone":"+15551234567","country":"US"}',
      extra: '{"n":12345678901234567890,"p":1.10,"z":"a\\u0000b\\\\"}',
    });
    const call = fixture.crm.calls.at(-1) ?? assert.fail("No webhook arrived");
    const header = (name: string) => String(call.headers[name]);
    return {
      secret: fixture.secret,
      id: header("webhook-id"),
      timestamp: header("webhook-timestamp"),
      signatures: header("webhook-signature"),
      body: Buffer.from(call.body, "utf8"),
    };
  };
  genuine = await sent();
  const replacement = `whsec_${randomBytes(32).toString("base64")}`;
  await fixture.sql`
    update actions.route set secret_before = secret, secret_before_until = now() + interval '24 hours', secret = ${replacement}
    where kind = 'crm'`;
  const both = await sent();
  assert.equal(both.signatures.split(" ").length, 2);
  between = [both, { ...both, secret: replacement }];
});

/** Signs a webhook with its own secret, at a given time. */
function signed(parts: Partial<Received>, nowMs: number): Received {
  const { secret, id, body } = { ...genuine, ...parts };
  const headers = signatureHeaders(id, Buffer.from(body).toString("utf8"), [secret], nowMs);
  return {
    ...genuine,
    timestamp: headers["webhook-timestamp"],
    signatures: headers["webhook-signature"],
    ...parts,
  };
}

const bytes = (text: string) => Buffer.from(text, "utf8");

/** Returns webhooks that must be rejected, by their fault. */
function forgeries(): Readonly<Record<string, Received>> {
  const nowMs = Date.now();
  const text = Buffer.from(genuine.body).toString("utf8");
  return {
    "a changed body": { ...genuine, body: bytes(text.replace("+1555", "+1556")) },
    "a reformatted body": { ...genuine, body: bytes(`${text} `) },
    "another secret": { ...genuine, secret: `whsec_${randomBytes(32).toString("base64")}` },
    "another id": { ...genuine, id: `${genuine.id}0` },
    "another time": { ...genuine, timestamp: String(Number(genuine.timestamp) + 1) },
    "a webhook sent ten minutes ago": signed({}, nowMs - 600_000),
    "a webhook sent ten minutes in the future": signed({}, nowMs + 600_000),
    "a malformed time": { ...genuine, timestamp: "now" },
    "an empty time": { ...genuine, timestamp: "" },
    "a time of 5,000 digits": { ...genuine, timestamp: "9".repeat(5_000) },
    "an empty signature": { ...genuine, signatures: "" },
    "only the version": { ...genuine, signatures: "v1," },
    "an unknown version": { ...genuine, signatures: genuine.signatures.replace("v1,", "v2,") },
    "a truncated signature": { ...genuine, signatures: genuine.signatures.slice(0, -8) },
  };
}

/** Returns genuine-looking webhooks for a receiver that was started with an unusable secret, by its fault. */
function withoutSecret(): Readonly<Record<string, Received>> {
  const secrets = {
    "no secret": "",
    "only the prefix": "whsec_",
    "an incomplete secret": genuine.secret.slice(0, "whsec_".length + 16),
  };
  return Object.fromEntries(
    Object.entries(secrets).map(([fault, secret]) => [fault, signed({ secret }, Date.now())]),
  );
}

test("the page has one function in each of the six languages and no other code", () => {
  assert.deepEqual(
    blocks.map(({ language }) => language).filter((language) => !["json", "text"].includes(language)),
    languages.map((language) => receivers[language].fence),
  );
});

for (const language of languages) {
  if (isSkipped(`test/docs/webhooks: ${language}`)) continue;
  test(`${language}: verifies what the actions process sends, during a secret rotation too, rejects everything else, and throws without a secret`, async () => {
    const code = blocks.find((block) => block.language === receivers[language].fence)?.text ?? "";
    const wrong = forgeries();
    const known = {
      ...genuine,
      signatures: `v2,${randomBytes(32).toString("base64")} ${genuine.signatures}`,
    };
    const unusable = withoutSecret();
    const said = await verdictsOf(language, code, [
      genuine,
      ...between,
      known,
      ...Object.values(wrong),
      ...Object.values(unusable),
    ]);
    const faults = Object.keys(wrong);
    assert.deepEqual(said.slice(0, 4), ["true", "true", "true", "true"]);
    assert.deepEqual(faults.filter((_, at) => said[at + 4] !== "false"), []);
    assert.deepEqual(
      Object.keys(unusable).filter((_, at) => said[at + 4 + faults.length] !== "thrown"),
      [],
    );
  });
}

test("the page's examples match the webhook, and its table explains every member of data", () => {
  const explained = [...page.text.matchAll(/^\| `(\w+)` +\| .+\|$/gm)].map(([, name]) => name as string);
  for (const { language, text } of blocks) {
    if (language !== "json") continue;
    const { data } = JSON.parse(text);
    for (const name of [...Object.keys(data), ...Object.keys(data.lead ?? {})]) {
      assert.ok(explained.includes(name), name);
    }
  }
});
