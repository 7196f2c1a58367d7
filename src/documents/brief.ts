/**
 * The integration brief: what a partner's developer has to know, as one page of Markdown. This module is browser
 * compatible.
 */

import { contactSentence } from "../contract/contact.ts";
import { type ErrorCode, errors } from "../contract/errors.ts";
import {
  type FieldName,
  fieldNames,
  fields,
  type Flag,
  flagNames,
  flags,
  requiredFields,
  vocabularyStatuses,
} from "../contract/fields.ts";
import { dollars, grouped, limits } from "../contract/limits.ts";
import { rateHeaderNames } from "../contract/rate_headers.ts";
import { clients, clientsSummary } from "./clients.ts";
import { placeholders } from "./examples.ts";
import {
  acknowledgementMembers,
  definitionOfDone,
  errorMembers,
  healthMembers,
  keyCheck,
  keyRules,
  limitRows,
  normalization,
  retryPolicy,
  rules,
} from "./guidance.ts";
import { kitsStatus, kitsSummary, kitsVersion, kitTabs } from "./kits.ts";
import { bullets, type Cells, code, jsonCode, named, numbered, sentence, table, tabs } from "./markdown.ts";
import { documents } from "./published.ts";
import { shellSnippets } from "./snippets.ts";

/** One value as it is sent and as it is stored. */
interface NormalizedExample {
  readonly field: FieldName | "cost";
  /** As JSON text where it is a number. */
  readonly sent: string;
  readonly stored: string;
  /** The country it is sent with; left out: none. */
  readonly country?: string;
  readonly flag?: Flag;
  readonly about: string;
}

/** Source: SPEC, Lead envelope; DECISIONS, The lead envelope. */
export const normalizedExamples: readonly NormalizedExample[] = [
  {
    field: "phone",
    sent: "(555) 123-4567",
    stored: "+15551234567",
    about:
      "Ten digits with an area code from 2 on, in any formatting, are a US or Canadian number. Nothing checks that it exists.",
  },
  {
    field: "phone",
    sent: "tel:1.613.555.0147",
    stored: "+16135550147",
    country: "MX",
    about: "So are 1 or +1 and ten such digits, whatever the country.",
  },
  {
    field: "phone",
    sent: "55 1234 5678",
    stored: "55 1234 5678",
    country: "MX",
    flag: "phone_unnormalized",
    about: "Ten bare digits with a `country` whose calling code is not 1 are not one.",
  },
  {
    field: "phone",
    sent: "555-123-4567 x12",
    stored: "555-123-4567 x12",
    flag: "phone_unnormalized",
    about: "An extension or letters: stored as sent.",
  },
  {
    field: "phone",
    sent: "+44 20 7946 0123",
    stored: "+44 20 7946 0123",
    flag: "phone_unnormalized",
    about: "Another country's number: stored as sent.",
  },
  {
    field: "zip",
    sent: "972011234",
    stored: "97201-1234",
    about: "Nine bare digits, in the US.",
  },
  {
    field: "zip",
    sent: "k1a-0b1",
    stored: "K1A 0B1",
    country: "CA",
    about: "A Canadian code, in any country.",
  },
  {
    field: "zip",
    sent: "SW1A 1AA",
    stored: "SW1A 1AA",
    country: "GB",
    about: "Anything else is left alone.",
  },
  { field: "country", sent: "united states", stored: "US", about: "A name that is known, in any case." },
  {
    field: "country",
    sent: "Deutschland",
    stored: "Deutschland",
    flag: "country_unrecognized",
    about: "Any other name: send the code, `DE`.",
  },
  { field: "state", sent: "or", stored: "OR", about: "Two letters are upper-cased, more are left alone." },
  {
    field: "project_area",
    sent: " KITCHEN ",
    stored: "kitchen",
    about: "A term that is known is stored as the vocabulary spells it.",
  },
  {
    field: "project_service",
    sent: " Repair ",
    stored: "repair",
    about: "Case and space around it do not matter.",
  },
  { field: "cost", sent: "12.345", stored: "12.35", about: "Rounded to cents, half a cent up." },
];

/** The envelope's rows: `name`, required, cap, rules. */
export const envelopeRows: readonly Cells[] = [
  ...fieldNames.map((name) => {
    const { required, lengthMax, description } = fields[name];
    return [`\`${name}\``, required ? "yes" : "no", grouped(lengthMax), description];
  }),
  [
    "`cost`",
    "no",
    `${dollars(limits.costCentsMin)}–${dollars(limits.costCentsMax)}`,
    "A number: what the contact cost, in US dollars, charged to the customer. When your key belongs to a campaign, it adds to what the campaign has spent. No charge: leave it out, do not send 0. The only value that is refused (`out_of_range`) rather than flagged.",
  ],
  ["`extra`", "reserved", "", "Do not send it. Anything but an object makes the whole body `invalid_json`."],
  ["`source`", "not a field", "", "The key's label is the source. One that is sent is kept under `extra`."],
  ["anything else", "no", "", "Kept as it was sent, under `extra`, and flagged `extra_fields_preserved`."],
];

const errorRows: readonly Cells[] = (Object.keys(errors) as ErrorCode[]).map((name) => {
  const { status, condition, callerAction, retry } = errors[name];
  return [String(status), `\`${name}\``, sentence(condition), sentence(callerAction), retry];
});

const normalizedRows: readonly Cells[] = normalizedExamples.map((
  { field, sent, country, stored, flag, about },
) => [
  `\`${field}\``,
  `\`${sent}\`${country === undefined ? "" : ` with \`country\` \`${country}\``}`,
  `\`${stored}\`${flag === undefined ? "" : `, flagged \`${flag}\``}`,
  about,
]);

const members = (rows: readonly { readonly name: string; readonly about: string }[]) =>
  bullets(rows.map(({ name, about }) => `\`${name}\`: ${about}`));

function opening(baseUrl: string, contact: string | null): string {
  const shell = shellSnippets(baseUrl);
  return `\
# Lead intake: integration brief

One lead, one HTTPS \`POST\`, one honest answer: a 202 means that the lead is on disk, and that its delivery is too. No
SDK, no OAuth, no webhook, nothing to poll.

- Endpoint: \`POST ${baseUrl}/v1/intake\`
- OpenAPI 3.0: <${baseUrl}${documents.openapi.path}>
- Playground, which runs the real validator in your browser and posts nothing: <${baseUrl}${documents.playground.path}>
- This page in a browser, with buttons that copy: <${baseUrl}${documents.briefPage.path}>
- Vocabulary: <${baseUrl}/v1/vocabulary> · Health: <${baseUrl}/healthz>

This page is generated from the tables that the service itself works with, and served live. Fetch it, do not copy it.
The commands below read your key from the environment variable \`LEADS_API_KEY\`.

## 1. Check the key

${code("sh", shell.keyCheck)}

An empty object is the only probe that production allows. It stores, delivers and emails nothing, and consumes no
\`Idempotency-Key\`. Its 422 names ${named(requiredFields)}, each \`required\`.

${table(["Answer", "Means"], keyCheck.map(({ answer, meaning }) => [answer, meaning]))}

About keys:

${bullets(contact === null ? keyRules : [...keyRules, contactSentence(contact)])}

## 2. Eight rules

${numbered(rules)}

## 3. Post a lead

Use a sandbox key (\`lead_test_…\`) until you go live; ask for one.

${code("sh", shell.postLead)}

Request headers:

${
    table(["Header", "Needed", "What"], [
      ["`X-API-Key`", "required", "Your key. It names the customer and carries your label."],
      ["`Content-Type`", "required", "`application/json`"],
      ["`Content-Encoding`", "none", "A compressed body is 400 `invalid_json`."],
      [
        "`Idempotency-Key`",
        "recommended",
        `Your name for the lead, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${placeholders.idempotencyKey}\`, sent once. All keys of one customer share one namespace: a bare number can collide with another source's lead, whose \`event_id\` you would get with a silent 200 while yours is not stored. Not a timestamp, not made anew for a try. Without it the same normalized lead is a repeat for ${limits.contentWindowHours} hours.`,
      ],
      [
        "`X-Request-Id`",
        "optional",
        `Your name for the request, up to ${limits.requestIdLengthMax} characters. Every answer has one, yours or ours, and so have our logs. An edge may add the header a second time, with the same value: take the first.`,
      ],
    ])
  }

The checks come in this order: limit per address, method, size, key, limit per key, validation, idempotency and commit.
`;
}

const envelope = `\
## 4. The envelope

One JSON object, UTF-8. All fields are strings, except \`cost\`. A field of the wrong type makes the whole body
\`invalid_json\`.

${table(["Field", "Required", "Cap", "Rules"], envelopeRows)}

Before it is stored, beside the body as you posted it:

${bullets(normalization)}

By example:

${table(["Field", "You send", "Stored", "Why"], normalizedRows)}

The vocabulary, \`GET /v1/vocabulary\`, may be kept for ${
  limits.vocabularyMaxAgeSeconds / 60
} minutes. \`project_area\` lists
the terms in use, each with \`area\` and \`status\`; it grows without notice, and retired terms are not listed.
\`project_service\` lists the four services and does not grow; \`required\` the required fields. A status is one of these,
and both are accepted exactly alike:

${bullets(Object.entries(vocabularyStatuses).map(([name, about]) => `\`${name}\`: ${about}`))}
`;

const answers = `\
## 5. Answers

A 202 or a 200 is final. Both have the same body:

${
  jsonCode({
    event_id: placeholders.eventId,
    status: "accepted",
    received_at: placeholders.receivedAt,
    source: placeholders.source,
    flags: [],
  })
}

${members(acknowledgementMembers)}

${
  table(["Status", "`status`", "Means"], [
    ["202", "`accepted`", "The lead and its delivery record are on disk, in one transaction."],
    [
      "200",
      "`duplicate`",
      "This `Idempotency-Key` was accepted before: the first lead's `event_id`, no second lead, whatever this body says. A success.",
    ],
  ])
}

Delivery to the customer's CRM and mail follows by itself and is repeated until it works. No webhook, callback or status
tells you of it; the 202 is the only confirmation.

No other answer promises anything. A 4xx has stored nothing; after a 503 or a time-out the retry, under the same
\`Idempotency-Key\`, finds out what became of the lead.

${
  jsonCode({
    error: "validation_failed",
    request_id: placeholders.requestId,
    fields: { last_name: "required" },
    detail: "surname is no field of a lead; last_name is",
  })
}

${members(errorMembers)}

${table(["Status", "`error`", "When", "Do", "Retry"], errorRows)}

${
  named(rateHeaderNames)
} tell what is left of each limit. Answers may gain members and codes: ignore what you do not
know.

\`GET /healthz\` answers ${healthMembers.map(({ name, about }) => `\`${name}\` (${about})`).join(", ")}.

## 6. Flags

Observations on an accepted lead. Never rejections; never retry because of one. There may be new ones.

Look at \`extra_fields_preserved\` before you go live: it also appears when an optional field is misspelled (\`zipcode\` for
\`zip\`), and what the field says reaches nobody.

${table(["Flag", "Means"], flagNames.map((flag) => [`\`${flag}\``, flags[flag]]))}
`;

function closing(baseUrl: string): string {
  const shell = shellSnippets(baseUrl);
  return `\
## 7. Limits

${table(["Limit", "Value", "About"], limitRows.map((row) => [row.limit, row.value, row.appliesTo]))}

## 8. Retry policy

${numbered(retryPolicy)}

## 9. A client to copy

${clientsSummary}

${
    tabs(
      "client",
      Object.entries(clients).map(([title, { fence, files }]) => ({
        title,
        text: files(baseUrl).map((text) => code(fence, text)).join("\n\n"),
      })),
    )
  }

Types for a client of your own in TypeScript:

${code("sh", shell.types)}

Generators of other languages read the same document; the service's tests make clients for TypeScript, Python, Go and Java
of it and post leads with them. With openapi-generator set \`disallowAdditionalPropertiesIfNotPresent=false\`, so that your
client goes on reading answers that have gained a member.

The terms of \`project_area\`, live:

${code("sh", shell.vocabulary)}

## 10. Client kits

${kitsSummary} Version ${kitsVersion}, ${kitsStatus}. Key and address are read from \`LEADS_API_KEY\` and
\`LEADS_BASE_URL\` (\`${baseUrl}/\`).

${kitTabs()}

## 11. Definition of done

${bullets(definitionOfDone, "- [ ]")}
`;
}

/**
 * The brief for a service that is reached at `baseUrl`, without a slash at the end.
 *
 * Source: SPEC, Endpoints; DECISIONS, The integration brief's fixed parts.
 */
export function brief(baseUrl: string, contact: string | null = null): string {
  return [opening(baseUrl, contact), envelope, answers, closing(baseUrl)].join("\n");
}
