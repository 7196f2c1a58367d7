import assert from "node:assert/strict";
import { test } from "node:test";
import { runCtl } from "../support/server.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const key = await testEnv.issue();

/** Posts text and returns the raw body's bytes and the event as stored. */
async function store(body: string | Uint8Array) {
  const bytes = Buffer.from(body);
  const answer = await testEnv.intake({ key: key.text, body: new Uint8Array(bytes) });
  assert.equal(answer.status, 202, answer.text);
  const [row] = await testEnv.sql<{ raw: Uint8Array }[]>`
    select convert_to(raw, 'UTF8') as raw from event where event_id = ${answer.json.event_id}`;
  return {
    answer,
    bytes,
    raw: Buffer.from(row?.raw ?? ""),
    event: await testEnv.event(answer.json.event_id),
  };
}

/** Returns a lead's text with these members added verbatim. */
function leadText(members: string): string {
  return JSON.stringify(lead()).replace(/\}$/, `,${members}}`);
}

const bodies: Readonly<Record<string, string>> = {
  "a byte order mark": `\ufeff${JSON.stringify(lead())}`,
  "white space around and inside": `\r\n\t ${
    JSON.stringify(lead(), null, "\t").replaceAll("\n", "\r\n")
  } \n\n`,
  "every plane of Unicode": leadText('"city":"Zürich 屋根 🏠 \u{10ffff} \ufffe e\u0301 \u202e"'),
  "escapes": leadText('"city":"\\u00e9\\ud83c\\udfe0\\/\\"\\\\","x":"\\u0000\\ud800"'),
  "duplicate members": leadText('"city":"first","city":"last","first_name":"Eve"'),
  "C1 controls and separators": leadText('"project_details":"a\u0085b\u2028c\u2029d\u009f"'),
  "numbers as written": leadText('"cost":1.10,"n":-0,"big":12345678901234567890,"e":1E+400'),
};

for (const [what, body] of Object.entries(bodies)) {
  test(`the raw body is stored byte for byte: ${what}`, async () => {
    const { raw, bytes } = await store(body);
    assert.deepEqual(raw, bytes);
  });
}

test("a raw body of 64 KiB is stored whole", async () => {
  const text = leadText(`"pad":"${"é".repeat(30_000)}"`);
  const body = text + " ".repeat(65_536 - Buffer.byteLength(text));
  const { raw, bytes } = await store(body);
  assert.equal(bytes.length, 65_536);
  assert.deepEqual(raw, bytes);
});

test("unknown members are returned under extra as sent, by ctl lead show too", async () => {
  const members = '"__proto__":{"polluted":true},"constructor":null,"n":12345678901234567890,"price":1.10,' +
    '"zero":"a\\u0000b","deep":{"a":[1,{"b":[]}],"dup":1,"dup":2},"":"","first_name ":"x","é":"\\u00e9"';
  const { answer, event } = await store(leadText(members));
  assert.deepEqual(answer.json.flags, ["extra_fields_preserved"]);
  assert.equal(event.extra, `{${members}}`);
  const shown = await runCtl(["lead", "show", answer.json.event_id, "--json"], {
    databaseUrl: testEnv.database.url,
  });
  assert.equal(shown.code, 0);
  const compact = shown.stdout.replaceAll(/\s*\n\s*/g, "").replaceAll('": ', '":');
  assert.ok(compact.includes('"__proto__":{"polluted":true}'), shown.stdout);
  for (const text of ["12345678901234567890", "1.10", '"a\\u0000b"', '"constructor"']) {
    assert.ok(shown.stdout.includes(text), text);
  }
  const { extra, raw } = JSON.parse(shown.stdout);
  assert.deepEqual(extra, JSON.parse(event.extra as string));
  assert.equal(raw, event.raw);
});

test("lone surrogates become U+FFFD in the stored lead and stay in the raw body", async () => {
  const body = leadText('"city":"a\\ud800b","k\\udc00":"\\ud83c"');
  const { event, raw, bytes } = await store(body);
  assert.equal(event.lead.city, "a\ufffdb");
  assert.deepEqual(JSON.parse(event.extra as string), { "k\ufffd": "\ufffd" });
  assert.deepEqual(raw, bytes);
});
