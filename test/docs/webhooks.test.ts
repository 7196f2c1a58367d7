import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { signatureHeaders } from "../../src/actions/destinations.ts";
import { openStand } from "../support/actions/stand.ts";
import { blocksOf, readPages } from "../support/docs/pages.ts";
import { isLeftOut } from "../../scripts/test_plan.ts";
import { judge, type Language, type Received, receivers } from "../support/docs/receivers.ts";

const languages = Object.keys(receivers) as Language[];
const page = readPages().find(({ path }) => path === "docs/webhooks.md");
assert.ok(page);
const blocks = blocksOf(page);

/** What the actions process has sent, with the secret of then. */
let genuine: Received;
/** The same while the secret is being replaced, judged by the old one and by the new one. */
let between: readonly Received[];

before(async () => {
  const stand = await openStand();
  const sent = async (): Promise<Received> => {
    await stand.deliver({
      content: '{"first_name":"Zoë","last_name":"漢字","phone":"+15551234567","country":"US"}',
      extra: '{"n":12345678901234567890,"p":1.10,"z":"a\\u0000b\\\\"}',
    });
    const call = stand.crm.calls.at(-1) ?? assert.fail("Nothing came");
    const header = (name: string) => String(call.headers[name]);
    return {
      secret: stand.secret,
      id: header("webhook-id"),
      timestamp: header("webhook-timestamp"),
      signatures: header("webhook-signature"),
      body: Buffer.from(call.body, "utf8"),
    };
  };
  genuine = await sent();
  const replacement = `whsec_${randomBytes(32).toString("base64")}`;
  await stand.sql`
    update actions.route set secret_before = secret, secret_before_until = now() + interval '24 hours', secret = ${replacement}
    where kind = 'crm'`;
  const both = await sent();
  assert.equal(both.signatures.split(" ").length, 2);
  between = [both, { ...both, secret: replacement }];
});

/** Signed, but by whom and when is another matter. */
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

/** What must be refused, by what is wrong with it. */
function forgeries(): Readonly<Record<string, Received>> {
  const nowMs = Date.now();
  const text = Buffer.from(genuine.body).toString("utf8");
  return {
    "a body that was changed": { ...genuine, body: bytes(text.replace("+1555", "+1556")) },
    "a body that was written anew": { ...genuine, body: bytes(`${text} `) },
    "another secret": { ...genuine, secret: `whsec_${randomBytes(32).toString("base64")}` },
    "another id": { ...genuine, id: `${genuine.id}0` },
    "another time": { ...genuine, timestamp: String(Number(genuine.timestamp) + 1) },
    "what was sent ten minutes ago": signed({}, nowMs - 600_000),
    "what was sent in ten minutes": signed({}, nowMs + 600_000),
    "a time that is none": { ...genuine, timestamp: "now" },
    "no time": { ...genuine, timestamp: "" },
    "no signature": { ...genuine, signatures: "" },
    "the version alone": { ...genuine, signatures: "v1," },
    "a version that is not known": { ...genuine, signatures: genuine.signatures.replace("v1,", "v2,") },
    "a part of the signature": { ...genuine, signatures: genuine.signatures.slice(0, -8) },
  };
}

test("the page has a function in each of the six languages, and no code besides", () => {
  assert.deepEqual(
    blocks.map(({ language }) => language).filter((language) => !["json", "text"].includes(language)),
    languages.map((language) => receivers[language].fence),
  );
});

for (const language of languages) {
  if (isLeftOut(`test/docs/webhooks: ${language}`)) continue;
  test(`${language}: what the actions process has sent is genuine, also between two secrets, and nothing else is`, async () => {
    const code = blocks.find((block) => block.language === receivers[language].fence)?.text ?? "";
    const wrong = forgeries();
    const known = {
      ...genuine,
      signatures: `v2,${randomBytes(32).toString("base64")} ${genuine.signatures}`,
    };
    const said = await judge(language, code, [genuine, ...between, known, ...Object.values(wrong)]);
    assert.deepEqual(said.slice(0, 4), [true, true, true, true]);
    assert.deepEqual(Object.keys(wrong).filter((_, at) => said[at + 4]), []);
  });
}

test("the examples of the page are what is sent: each member of data is explained, and no other", () => {
  const explained = [...page.text.matchAll(/^\| `(\w+)` +\| .+\|$/gm)].map(([, name]) => name as string);
  for (const { language, text } of blocks) {
    if (language !== "json") continue;
    const { data } = JSON.parse(text);
    for (const name of [...Object.keys(data), ...Object.keys(data.lead ?? {})]) {
      assert.ok(explained.includes(name), name);
    }
  }
});
