/**
 * The integration brief for the partner's developer, as a page of Markdown. This module is browser compatible.
 */

import { contactSentence } from "../contract/contact.ts";
import { errors } from "../contract/errors.ts";
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
import {
  bullets,
  type Cells,
  code,
  errorTable,
  jsonCode,
  memberList,
  named,
  numbered,
  table,
  tabs,
} from "./markdown.ts";
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
      "Ten digits with an area code from 2 on, in any formatting, are a US or Canadian number. Whether it exists is not checked.",
  },
  {
    field: "phone",
    sent: "tel:1.613.555.0147",
    stored: "+16135550147",
    country: "MX",
    about: "So is 1 or +1 and ten such digits, whatever the country.",
  },
  {
    field: "phone",
    sent: "55 1234 5678",
    stored: "55 1234 5678",
    country: "MX",
    flag: "phone_unnormalized",
    about: "Ten bare digits with a `country` whose calling code is not 1 are no US or Canadian number.",
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
    about: "A number of another country: stored as sent.",
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
  { field: "country", sent: "united states", stored: "US", about: "A known name, in any case." },
  {
    field: "country",
    sent: "Deutschland",
    stored: "Deutschland",
    flag: "country_unrecognized",
    about: "Any other name: send the code, `DE`.",
  },
  {
    field: "state",
    sent: "or",
    stored: "OR",
    about: "Two letters are upper-cased; anything longer is left alone.",
  },
  {
    field: "project_area",
    sent: " KITCHEN ",
    stored: "kitchen",
    about: "A known term is stored in the spelling of the vocabulary.",
  },
  {
    field: "project_service",
    sent: " Repair ",
    stored: "repair",
    about: "Case and surrounding space are ignored.",
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
    "A number: the price of the contact in US dollars, charged to the customer. If your key belongs to a campaign, it adds to the campaign's spend. If there is no charge, omit it; do not send 0. The only value that is refused (`out_of_range`) instead of flagged.",
  ],
  ["`extra`", "reserved", "", "Do not send it. Anything but an object makes the whole body `invalid_json`."],
  [
    "`source`",
    "not a field",
    "",
    "The key's label is the source. A `source` in the body is kept under `extra`.",
  ],
  ["anything else", "no", "", "Kept as sent, under `extra`, and flagged `extra_fields_preserved`."],
];

const normalizedRows: readonly Cells[] = normalizedExamples.map((
  { field, sent, country, stored, flag, about },
) => [
  `\`${field}\``,
  `\`${sent}\`${country === undefined ? "" : ` with \`country\` \`${country}\``}`,
  `\`${stored}\`${flag === undefined ? "" : `, flagged \`${flag}\``}`,
  about,
]);

function opening(baseUrl: string, contact: string | null): string {
  const shell = shellSnippets(baseUrl);
  return `\
# Lead intake: integration brief

Send each lead with one HTTPS \`POST\`. A 202 means that the lead and its delivery record are on disk. You need no SDK, no
OAuth and no webhook, and there is nothing to poll.

- Endpoint: \`POST ${baseUrl}/v1/intake\`
- OpenAPI 3.0: <${baseUrl}${documents.openapi.path}>
- Playground, which runs the real validator in your browser and posts nothing: <${baseUrl}${documents.playground.path}>
- This page in a browser, with copy buttons: <${baseUrl}${documents.briefPage.path}>
- Vocabulary: <${baseUrl}/v1/vocabulary> · Health: <${baseUrl}/healthz>

This page is generated from the tables that the service itself uses, and served live. Fetch it instead of copying it.
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
        `Your id for the lead, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${placeholders.idempotencyKey}\`, in one header. All keys of a customer share one namespace: a bare number can collide with a lead of another source, and you then get a 200 with that lead's \`event_id\` while yours is not stored. Do not use a timestamp, and do not generate a new one for each try. Without the header, the same normalized lead counts as a repeat for ${limits.contentWindowHours} hours.`,
      ],
      [
        "`X-Request-Id`",
        "optional",
        `Your id for the request, up to ${limits.requestIdLengthMax} characters. Every answer and our logs contain it, or an id of ours. An edge may repeat the header with the same value: use the first.`,
      ],
    ])
  }

The service checks in this order: limit per address, method, size, key, limit per key, validation, idempotency and commit.
`;
}

const envelope = `\
## 4. The envelope

One JSON object, UTF-8. All fields are strings, except \`cost\`. A field of the wrong type makes the whole body
\`invalid_json\`.

${table(["Field", "Required", "Cap", "Rules"], envelopeRows)}

The service keeps the body as you posted it, and normalizes the lead before it stores it:

${bullets(normalization)}

Examples:

${table(["Field", "You send", "Stored", "Why"], normalizedRows)}

You may cache the vocabulary, \`GET /v1/vocabulary\`, for ${
  limits.vocabularyMaxAgeSeconds / 60
} minutes. \`project_area\` lists
the terms in use, each with \`area\` and \`status\`; it grows without notice and omits retired terms.
\`project_service\` lists the four services and does not grow; \`required\` lists the required fields. There are two statuses,
and both are accepted alike:

${memberList(Object.entries(vocabularyStatuses).map(([name, about]) => ({ name, about })))}
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

${memberList(acknowledgementMembers)}

${
  table(["Status", "`status`", "Means"], [
    ["202", "`accepted`", "The lead and its delivery record are on disk, in one transaction."],
    [
      "200",
      "`duplicate`",
      "A success: this `Idempotency-Key` was accepted before. You get the first lead's `event_id`; no second lead is stored, whatever the body says.",
    ],
  ])
}

The service then delivers the lead to the customer's CRM and mail, and retries until it succeeds. No webhook, callback or
status reports this; the 202 is the only confirmation.

No other answer confirms anything. After a 4xx nothing is stored; after a 503 or a time-out, retry with the same
\`Idempotency-Key\` to find out whether the lead was accepted.

${
  jsonCode({
    error: "validation_failed",
    request_id: placeholders.requestId,
    fields: { last_name: "required" },
    detail: "surname is no field of a lead; last_name is",
  })
}

${memberList(errorMembers)}

${errorTable(errors)}

${
  named(rateHeaderNames)
} show the remaining budget of each limit. Answers may gain members and codes: ignore those that you do
not know.

\`GET /healthz\` answers ${healthMembers.map(({ name, about }) => `\`${name}\` (${about})`).join(", ")}.

## 6. Flags

Flags are observations on an accepted lead, not rejections: never retry because of one. New flags may be added.

Check for \`extra_fields_preserved\` before you go live: it also appears when you misspell an optional field (\`zipcode\` for
\`zip\`), and that value then reaches nobody.

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

To generate types for your own client in TypeScript:

${code("sh", shell.types)}

Generators for other languages read the same document; the service's tests generate clients for TypeScript, Python, Go and
Java and post leads with them. With openapi-generator, set \`disallowAdditionalPropertiesIfNotPresent=false\`, so that your
client still reads answers that gain a member.

To list the terms of \`project_area\`:

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
