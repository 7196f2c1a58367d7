import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  contactsOf,
  type Person,
  personByEmail,
  personByPhone,
  type StoredTexts,
} from "../../src/lead/person.ts";

const nothing: StoredTexts = { lead: null, extra: null, raw: null, contact: null, identifiers: [] };
const json = (value: unknown) => JSON.stringify(value);

function known(person: Person | null): Person {
  assert.ok(person);
  return person;
}

const jane = known(personByEmail(" Jane.Doe+web@Example.com\t"));
const digit = known(personByEmail("j4ne@example.com"));
const dialled = known(personByPhone("(415) 867-5309"));
const london = known(personByPhone("+44 20 7946 0958"));

type Case = readonly [string, Partial<StoredTexts>];

function all(person: Person, relation: string, cases: readonly Case[]): void {
  for (const [what, texts] of cases) {
    const whole = { ...nothing, ...texts };
    assert.equal(person.relation(whole), relation, what);
    if (relation === "none") continue;
    // The store's search must find every text with a relation.
    const found = Object.values(whole).flat().some((text) =>
      text !== null && new RegExp(person.pattern, "u").test(text)
    );
    assert.ok(found, `${what} matches the search pattern`);
  }
}

test("a lead is theirs if the address is a complete value anywhere in it, in any case", () => {
  all(jane, "contact", [
    ["the field", { lead: json({ email: "jane.doe+web@example.com" }) }],
    ["as posted", { raw: json({ email: " JANE.DOE+WEB@EXAMPLE.COM " }) }],
    ["behind a byte order mark", { raw: `\ufeff${json({ email: "jane.doe+web@example.com" })}` }],
    ["a member of extra", { extra: json({ backup: "Jane.Doe+web@example.com" }) }],
    ["nested", { extra: json({ crm: [{ to: ["jane.doe+web@example.com"] }] }) }],
    ["escaped", { raw: '{"m":"jan\\u0065.doe+web\\u0040example.com"}' }],
    ["with the Kelvin sign", {
      lead: json({ email: "jane.doe+web@example.com" }),
      raw: '{"note":"\u212a"}',
    }],
    ["with a name around it, in the field itself", {
      raw: json({ email: "Jane <jane.doe+web@example.com>" }),
    }],
  ]);
});

test("a text that only contains the address is a mention", () => {
  all(jane, "mention", [
    ["details", { lead: json({ project_details: "Write to jane.doe+web@example.com, please." }) }],
    ["a member's name", { extra: json({ "jane.doe+web@example.com": true }) }],
    ["an Idempotency-Key", { identifiers: ["crm:Jane.Doe+Web@example.com"] }],
    ["a duplicate member", {
      raw: '{"email":"jane.doe+web@example.com","email":"a@b.co"}',
    }],
    ["malformed JSON", { raw: "{jane.doe+web@example.com" }],
  ]);
});

test("an address or a number in a percent-encoded URL is a mention", () => {
  const page = (query: string) => ({ raw: json({ page_url: `https://shop.example/thanks?${query}` }) });
  all(jane, "mention", [
    ["escaped", page("email=jane.doe%2Bweb%40example.com&utm_source=mail")],
    ["in small letters", page("email=JANE.DOE%2bweb%40example.com")],
    ["only the @", page("email=jane.doe+web%40example.com")],
    [
      "a nested URL",
      page("next=https%3A%2F%2Fshop.example%2F%3Femail%3Djane.doe%252Bweb%2540example.com"),
    ],
  ]);
  all(jane, "none", [["a longer name", page("email=mary%2Djane.doe%2Bweb%40example.com")]]);
  all(dialled, "mention", [
    ["digits", page("tel=4158675309")],
    ["escaped", page("tel=%2B1%20%28415%29%20867-5309")],
    ["escaped twice", page("tel=%252B1%2520415%2520867%252D5309")],
  ]);
});

test("a similar address is not a mention", () => {
  all(digit, "contact", [["an address with a digit", { raw: json({ email: "J4NE@example.com" }) }]]);
  all(jane, "none", [
    ["nothing stored", {}],
    ["a longer name", { lead: json({ email: "mary-jane.doe+web@example.com" }) }],
    ["a longer domain", { lead: json({ email: "jane.doe+web@example.com.au" }) }],
    ["another top level", { lead: json({ email: "jane.doe+web@example.comm" }) }],
    ["a dot that is any character", { lead: json({ email: "janexdoe+web@example.com" }) }],
    ["null and other values", { lead: "null", extra: "[1,true,null]" }],
  ]);
});

test("an address outside ASCII is found in either case, escaped or not", () => {
  const zoe = known(personByEmail("ZOË@münchen.de"));
  all(zoe, "contact", [
    ["upper case", { raw: json({ email: "ZOË@MÜNCHEN.DE" }) }],
    ["escaped", { raw: '{"email":"zo\\u00eb@m\\u00fcnchen.de"}' }],
  ]);
  all(known(personByEmail("i\u0307k@example.com")), "contact", [
    ["letters that are ASCII in lower case only", { raw: json({ email: "\u0130\u212a@EXAMPLE.COM" }) }],
  ]);
});

test("an invalid address identifies nobody", () => {
  for (const text of ["", "us", "@", "a@", "@b", "a@b@c", " \t"]) {
    assert.equal(personByEmail(text), null, text);
  }
});

test("a lead is theirs if the number is a complete value in any format", () => {
  all(dialled, "contact", [
    ["as normalized", { lead: json({ phone: "+14158675309" }) }],
    ["as posted", { raw: json({ phone: "tel:415.867.5309" }) }],
    ["with slashes that are escaped", { raw: '{"mobile":"415\\/867-5309"}' }],
    ["a number", { extra: json({ cell: 4158675309 }) }],
    ["with tabs", { raw: json({ cell: "415\t867\t5309" }) }],
    ["other digits", { extra: json({ cell: "٤١٥٨٦٧٥٣٠٩" }) }],
    ["full-width, escaped", { raw: '{"cell":"\\uff14\\uff11\\uff15 8675309"}' }],
    ["with an extension, as the sender's contact", {
      lead: json({ "Your tel.": "415-867-5309 x12" }),
      contact: json({ phone: "415-867-5309 x12", email: null }),
    }],
    ["with an extension, in the field itself", { lead: json({ phone: "415-867-5309 x12" }) }],
  ]);
});

test("a text that only contains the number is a mention, and another number is not", () => {
  all(dialled, "mention", [
    ["details", { lead: json({ project_details: "Call (415) 867-5309 or 1 415 867 5309." }) }],
    ["with an extension elsewhere", { extra: json({ office: "415-867-5309 ext. 4" }) }],
    ["an Idempotency-Key", { identifiers: ["tel:4158675309"] }],
  ]);
  // Ten bare digits match a number of either country; with +1 they are only a mention abroad.
  const abroad: Case[] = [["the same digits abroad", { lead: json({ phone: "4158675309", country: "MX" }) }]];
  all(known(personByPhone("+1 415 867 5309")), "mention", abroad);
  all(dialled, "contact", abroad);
  all(dialled, "none", [
    ["the next number", { lead: json({ phone: "+14158675308" }) }],
    ["inside a longer one", { extra: json({ order: "941586753091" }) }],
    ["no number", { lead: json({ phone: "call me" }) }],
  ]);
});

test("a number of another country is matched by its digits in any format", () => {
  all(london, "contact", [
    ["as sent", { lead: json({ phone: "+44 20 7946 0958" }) }],
    ["with 00 and dashes", { lead: json({ phone: "0044-20-7946-0958" }) }],
    ["without a plus", { extra: json({ tel: "442079460958" }) }],
    ["with a trunk prefix", { extra: json({ tel: "+44 (0)20 7946 0958" }) }],
    ["from America", { extra: json({ tel: "011 44 20 7946 0958" }) }],
    ["with other separators, in the field itself", { lead: json({ phone: "+44*20*7946*0958" }) }],
    ["with 00 and an extension", { lead: json({ phone: "0044|20|7946|0958 x12" }) }],
  ]);
  all(london, "mention", [
    ["in national format", { lead: json({ phone: "020 7946 0958" }) }],
    ["with other separators", { extra: json({ tel: "+44~20~7946~0958" }) }],
    ["in a text", { extra: json({ note: "call 0044 (0)20 7946 0958 or 020 7946 0958 after 5" }) }],
  ]);
  for (
    const typed of ["0044 20 7946 0958", "011442079460958", "+44 (0)20 7946 0958 ext. 3", "442079460958"]
  ) {
    all(known(personByPhone(typed)), "contact", [[typed, { lead: json({ phone: "+44 20 7946 0958" }) }]]);
  }
  all(london, "none", [["another", { lead: json({ phone: "+44 20 7946 0959" }) }]]);
  const mexican = known(personByPhone("5512345678"));
  all(mexican, "contact", [
    ["bare digits, stored as sent", { lead: json({ phone: "55 1234 5678", country: "MX" }) }],
    ["the same digits as a US number", { lead: json({ phone: "+15512345678" }) }],
  ]);
});

/** Numbers with every separator, digit and prefix; the second is a number whose prefix or digits may be another's. */
const written = [
  "303·555·4562",
  "[303] 555-4562",
  "303_555_4562",
  "3\ufe0f\u20e30\ufe0f\u20e33\ufe0f\u20e3 5\ufe0f\u20e35\ufe0f\u20e35\ufe0f\u20e3 4\ufe0f\u20e35\ufe0f\u20e36\ufe0f\u20e32\ufe0f\u20e3",
  "\u202a303\u200b\u200e-\u200f555\u2060\u200d-4562\u202c",
  "３０３－５５５－４５６２",
  "0013035554562",
  "00 1 (303) 555-4562",
  "011 1 303 555 4562",
];
const separated = [..."*~|,:;⁄‧•=+'"].map((mark) => `303${mark}555${mark}4562`);
const ambiguous = [
  "03035554562",
  "+493035554562",
  "+3035554562",
  "303 . * . 555 . * . 4562",
  "③⓪③ ⑤⑤⑤ ④⑤⑥②",
  "³⁰³⁵⁵⁵⁴⁵⁶²",
  "303x555x4562",
  "area 303, then 5554562",
];

test("a number with any separator, digits or prefix is the person's if it cannot be another, or else a mention", () => {
  const denver = known(personByPhone("303-555-4562"));
  const cases = (texts: readonly string[], put: (text: string) => Partial<StoredTexts>) =>
    texts.flatMap((text): Case[] => [
      [text, put(text)],
      [
        `${text}, escaped`,
        JSON.parse(json(put(text)), (_, value) => typeof value === "string" ? escaped(value) : value),
      ],
    ]);
  const phone = (text: string) => ({ raw: json({ phone: text }) });
  const member = (text: string) => ({ extra: json({ cell: text }) });
  all(denver, "contact", cases([...written, ...separated], phone));
  all(denver, "contact", cases(written, member));
  all(denver, "mention", cases([...separated, ...ambiguous], member));
  all(denver, "mention", cases(ambiguous.slice(0, 1), phone));
  const texts = [...written, ...separated, "03035554562"];
  for (
    const [before, after] of [["call ", " after 5"], ["", " x12"], ["12 ", " ext. 4"], ["tel:", ";ext=4"]]
  ) {
    all(
      denver,
      "mention",
      cases(texts, (text) => ({ extra: json({ note: `please ${before}${text}${after}` }) })),
    );
  }
  all(denver, "mention", cases(texts, (text) => ({ extra: json({ [text]: true }) })));
  all(denver, "mention", texts.map((text) => [text, { identifiers: [`tel:${text}`] }]));
  const page = (text: string) => ({ raw: json({ page_url: `https://shop.example/?tel=${text}&utm_id=7` }) });
  all(denver, "mention", cases(texts, (text) => page(encodeURIComponent(text))));
  all(denver, "mention", cases(texts, (text) => page(encodeURIComponent(encodeURIComponent(text)))));
  all(denver, "mention", [["every byte", page("%33%30%33%2D%35%35%35%2D%34%35%36%32")]]);
  all(denver, "mention", [["a duplicate member", {
    raw: '{"phone":"303\\u2010555\\u20104562","phone":""}',
  }]]);
});

/** Writes every character of the JSON's strings that is not ASCII as an escape. */
function escaped(text: string): string {
  return text.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

test("a number typed in any format is the same person", () => {
  const stored = { ...nothing, lead: json({ phone: "+13035554562" }) };
  for (const typed of [...written, "+1 303 555 4562 x12", "tel:303.555.4562"]) {
    assert.equal(known(personByPhone(typed)).relation(stored), "contact", typed);
  }
});

test("a longer number, an id or a time that contains the number is not a mention", () => {
  const values = [
    "93035554562912",
    "1303555456299",
    "30355545621",
    "1234563035554562",
    "2026-12-01T09:53:31.303Z",
    "cs_30355545629a",
    "130355545620000",
    "303-555-45621",
    "1303 555 45 629",
  ];
  const denver = known(personByPhone("303-555-4562"));
  for (const value of values) {
    for (const text of [value, `order ${value} of today`]) {
      all(denver, "none", [[text, {
        extra: json({ x: text }),
        raw: json({ x: text }),
        identifiers: [text],
      }]]);
    }
  }
  all(denver, "none", [
    ["a JSON number", { extra: json({ at: 1303555456299, id: 93035554562912 }) }],
  ]);
});

test("a phone that is not a number is compared as text", () => {
  const flowers = known(personByPhone("1-800-356-9377 FLOWERS"));
  all(flowers, "contact", [["as sent", { lead: json({ phone: "1-800-356-9377 FLOWERS" }) }]]);
  all(flowers, "none", [
    ["another text", { lead: json({ phone: "1-800-356-9378 FLOWERS" }) }],
    ["another number", { lead: json({ phone: "5550001" }) }],
  ]);
});

test("a phone needs seven digits", () => {
  for (const text of ["", "+", "call me", "867-530"]) assert.equal(personByPhone(text), null, text);
});

test("an address or number with other text around it in its own field is matched", () => {
  const field = (email: string) => ({ raw: json({ email }) });
  all(jane, "contact", [
    ["in brackets", field("<Jane.Doe+web@example.com>")],
    ["in quotes", field('"jane.doe+web@example.com".')],
    ["after another", field("a@b.example,jane.doe+web@example.com;c@d.example")],
    ["behind a scheme", field("mailto:jane.doe+web@example.com?subject=x")],
    ["twice an @", field("x@jane.doe+web@example.com")],
  ]);
  all(jane, "none", [
    ["a longer domain", field("<jane.doe+web@example.com.au>")],
    ["a longer name", field("<mary-jane.doe+web@example.com>")],
  ]);
  all(jane, "contact", [[
    "between many punctuation marks",
    field(`${"!?".repeat(9)}jane.doe+web@example.com${"!?".repeat(9)}`),
  ]]);
  // More punctuation marks than a real address has.
  all(known(personByEmail("a!b!c!d!e!f!g!h!i!j@example.com")), "mention", [
    ["punctuation marks in the name", field("<a!b!c!d!e!f!g!h!i!j@example.com>")],
  ]);
  const phone = (text: string) => ({ raw: json({ phone: text }) });
  all(dialled, "contact", [
    ["with a country's code", phone("+1 (415) 867-5309 ext 12")],
    ["without spaces", phone("14158675309x12")],
    ["after another", phone("office 5550001111, mobile 415.867.5309")],
    ["followed by another", phone("415 867 5309 / 12 home")],
  ]);
  all(dialled, "mention", [["abroad", phone("+4158675309 home")]]);
  all(dialled, "none", [["longer", phone("4158675309123 home")]]);
  all(london, "contact", [["abroad", phone("tel. +44 20 7946 0958 (home)")]]);
});

test("a value longer than any address or number is treated as text", () => {
  const long = " ".repeat(1_000);
  all(jane, "mention", [["an address", { extra: json({ x: `jane.doe+web@example.com${long}` }) }]]);
  all(dialled, "mention", [["a number", { extra: json({ x: `4158675309${long}` }) }]]);
  all(dialled, "mention", [["digits", { raw: json({ phone: `${"12 ".repeat(400)} x 4158675309` }) }]]);
});

test("a post's contacts list each address and number once, however it is written", () => {
  const lead = { first_name: "Jane", email: "jane@example.com", phone: "+14158675309", zip: "97201" };
  const raw = { ...lead, email: " JANE@example.com", phone: "(415) 867-5309", order: 12345678 };
  assert.deepEqual([...contactsOf({ ...nothing, lead: json(lead), raw: json(raw) })], [
    "email jane@example.com",
    "phone +14158675309",
    "number 12345678",
  ]);
});

test("a contact never contains a line break or NUL", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
      const contacts = contactsOf({ ...nothing, raw: json({ value, email: text, phone: text }) });
      for (const contact of contacts) assert.doesNotMatch(contact, /[\n\0]/);
    }),
  );
});
