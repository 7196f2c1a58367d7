/** The integration brief for a lead provider's developers, in Markdown. This module is browser compatible. */

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
import { formatCents, formatCount, limits } from "../contract/limits.ts";
import { rateHeaderNames } from "../contract/rate_headers.ts";
import { clients, clientsSummary } from "./clients.ts";
import { acknowledgementExample, placeholders } from "./examples.ts";
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
import { kitsStatus, kitsSummary, kitTabs } from "./kits.ts";
import {
  bullets,
  type Cells,
  code,
  codeList,
  errorTable,
  jsonCode,
  memberList,
  numbered,
  table,
  tabs,
} from "./markdown.ts";
import { documents } from "./published.ts";
import { shellSnippets } from "./snippets.ts";

/** A field's value as sent and as stored. */
interface NormalizedExample {
  readonly field: FieldName | "cost";
  /** The value as sent; a number is given as JSON text. */
  readonly sent: string;
  readonly stored: string;
  /** The `country` of the same lead, if any. */
  readonly country?: string;
  readonly flag?: Flag;
  readonly about: string;
}

/** Examples of normalization. Source: SPEC, Lead envelope; DECISIONS, The lead envelope. */
export const normalizedExamples: readonly NormalizedExample[] = [
  {
    field: "phone",
    sent: "(555) 123-4567",
    stored: "+15551234567",
    about:
      "Ten digits with an area code that starts with 2 to 9, in any formatting, are a US or Canadian number. The service does not check whether it exists.",
  },
  {
    field: "phone",
    sent: "tel:1.613.555.0147",
    stored: "+16135550147",
    country: "MX",
    about: "With a leading 1 or +1, the number is US or Canadian whatever the country.",
  },
  {
    field: "phone",
    sent: "55 1234 5678",
    stored: "55 1234 5678",
    country: "MX",
    flag: "phone_unnormalized",
    about: "Ten digits with a `country` whose calling code is not 1 are not a US or Canadian number.",
  },
  {
    field: "phone",
    sent: "555-123-4567 x12",
    stored: "555-123-4567 x12",
    flag: "phone_unnormalized",
    about: "A number with an extension or letters is stored as sent.",
  },
  {
    field: "phone",
    sent: "+44 20 7946 0123",
    stored: "+44 20 7946 0123",
    flag: "phone_unnormalized",
    about: "A number from another country is stored as sent.",
  },
  {
    field: "zip",
    sent: "972011234",
    stored: "97201-1234",
    about: "Nine digits in the US become ZIP+4.",
  },
  {
    field: "zip",
    sent: "k1a-0b1",
    stored: "K1A 0B1",
    country: "CA",
    about: "A Canadian postal code is formatted, whatever the country.",
  },
  {
    field: "zip",
    sent: "SW1A 1AA",
    stored: "SW1A 1AA",
    country: "GB",
    about: "Anything else is unchanged.",
  },
  {
    field: "country",
    sent: "united states",
    stored: "US",
    about: "A known country name, in upper or lower case, becomes its code.",
  },
  {
    field: "country",
    sent: "Deutschland",
    stored: "Deutschland",
    flag: "country_unrecognized",
    about: "Any other name is stored as sent. Send the code instead: `DE`.",
  },
  {
    field: "state",
    sent: "or",
    stored: "OR",
    about: "Two letters are upper-cased; anything else is unchanged.",
  },
  {
    field: "project_area",
    sent: " KITCHEN ",
    stored: "kitchen",
    about: "A known term is stored with the vocabulary's spelling.",
  },
  {
    field: "project_service",
    sent: " Repair ",
    stored: "repair",
    about: "Case and surrounding space are ignored.",
  },
  {
    field: "cost",
    sent: "12.345",
    stored: "12.35",
    about: "Rounded to the nearest cent; half a cent rounds up.",
  },
];

/** The rows of the envelope table: name, required, limit, rules. */
export const envelopeRows: readonly Cells[] = [
  ...fieldNames.map((name) => {
    const { required, lengthMax, description } = fields[name];
    return [`\`${name}\``, required ? "yes" : "no", formatCount(lengthMax), description];
  }),
  [
    "`cost`",
    "no",
    `${formatCents(limits.costCentsMin)}–${formatCents(limits.costCentsMax)}`,
    "A number: the price of the lead in US dollars, which the customer is charged. If your key belongs to a campaign, the cost is added to the campaign's spend. If the lead was free, omit `cost`; do not send 0. A value out of range is rejected (`out_of_range`), not flagged.",
  ],
  [
    "`extra`",
    "reserved",
    "",
    "Do not send it. Any value other than an object makes the whole body `invalid_json`.",
  ],
  [
    "`source`",
    "not a field",
    "",
    "Your key's label is the source. A `source` in the body is preserved under `extra`.",
  ],
  ["any other field", "no", "", "Preserved as sent, under `extra`, and flagged `extra_fields_preserved`."],
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
- Playground, which runs the real validator in your browser and sends no leads: <${baseUrl}${documents.playground.path}>
- This page as HTML, with copy buttons: <${baseUrl}${documents.briefPage.path}>
- Vocabulary: <${baseUrl}/v1/vocabulary> · Health: <${baseUrl}/healthz>

This page is generated from the same definitions that the service validates requests with. Fetch it instead of keeping a copy. The commands below read your key from the environment variable \`LEADS_API_KEY\`.

## 1. Check the key

${code("sh", shell.keyCheck)}

In production, an empty object is the only test request you may send. It stores, delivers and emails nothing, and consumes
no \`Idempotency-Key\`. Its 422 names ${codeList(requiredFields)}, each \`required\`.

${table(["Response", "Meaning"], keyCheck.map(({ response, meaning }) => [response, meaning]))}

About keys:

${bullets(contact === null ? keyRules : [...keyRules, contactSentence(contact)])}

## 2. Eight rules

${numbered(rules)}

## 3. Post a lead

Use a sandbox key (\`lead_test_…\`) until you go live; ask for one.

${code("sh", shell.postLead)}

Request headers:

${
    table(["Header", "Required", "Rules"], [
      ["`X-API-Key`", "yes", "Your key. It identifies the customer and carries your label."],
      ["`Content-Type`", "yes", "`application/json`"],
      ["`Content-Encoding`", "do not send", "A compressed body gets 400 `invalid_json`."],
      [
        "`Idempotency-Key`",
        "recommended",
        `Your ID for the lead, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${placeholders.idempotencyKey}\`, in one header. All API keys of a customer share one namespace for this header, so a bare number can collide with another source's. You then get a 200 with the other lead's \`event_id\`, and your lead is set aside, not delivered. Do not use a timestamp, and do not generate a new value for each try. Without the header, the same normalized lead counts as a repeat for ${limits.contentWindowHours} hours.`,
      ],
      [
        "`X-Request-Id`",
        "no",
        `Your ID for the request, up to ${limits.requestIdLengthMax} characters. The response and the service's log contain it, or a generated ID. A reverse proxy may add the header to the response a second time, with the same value; use the first.`,
      ],
    ])
  }

The service checks each request in this order: limit per IP address, method, size, key, limit per key, validation, idempotency.
It then commits the lead.
`;
}

const envelope = `\
## 4. The envelope

The envelope is one JSON object in UTF-8. All fields are strings, except \`cost\`. A field of the wrong type makes the whole
body \`invalid_json\`.

${table(["Field", "Required", "Limit", "Rules"], envelopeRows)}

The service keeps the body as posted, and normalizes the lead before it stores it:

${bullets(normalization)}

Examples:

${table(["Field", "Sent", "Stored", "Reason"], normalizedRows)}

You can cache the vocabulary, \`GET /v1/vocabulary\`, for ${
  limits.vocabularyMaxAgeSeconds / 60
} minutes. \`project_area\` lists
the terms in use, each with \`area\` and \`status\`; the list grows without notice and omits retired terms.
\`project_service\` lists the four services and does not grow; \`required\` lists the required fields. Terms are
accepted regardless of their status:

${memberList(Object.entries(vocabularyStatuses).map(([name, about]) => ({ name, about })))}
`;

const responses = `\
## 5. Responses

A 202 or a 200 is final. Both have a body of this form:

${jsonCode(acknowledgementExample("accepted"))}

${memberList(acknowledgementMembers)}

${
  table(["Status", "`status`", "Meaning"], [
    [
      "202",
      "`accepted`",
      "The lead and its delivery record were committed in one transaction and are on disk.",
    ],
    [
      "200",
      "`duplicate`",
      "A success: a lead with this `Idempotency-Key` (or, without the header, the same lead) was accepted before. You get the `event_id` of the first lead; no second lead is stored, whatever the body contains.",
    ],
  ])
}

The service then delivers the lead to the customer's CRM and inbox, and retries if that fails. No webhook, callback or
status reports the delivery; the 202 or 200 is the only confirmation you get.

No other response confirms anything. After a 4xx, nothing is stored. After a 5xx or a timeout, retry with the same
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
  codeList(rateHeaderNames)
} describe each limit and how many requests remain. Responses may gain members and codes: ignore those that you
do not know.

\`GET /healthz\` returns ${healthMembers.map(({ name, about }) => `\`${name}\` (${about})`).join(", ")}.

## 6. Flags

Flags are observations about an accepted lead, not rejections: never retry because of one. New flags may be added.

Check for \`extra_fields_preserved\` before you go live: it also appears if you misspell an optional field (\`zipcode\` for
\`zip\`), and the value is then stored under \`extra\` instead.

${table(["Flag", "Meaning"], flagNames.map((flag) => [`\`${flag}\``, flags[flag]]))}
`;

function closing(baseUrl: string): string {
  const shell = shellSnippets(baseUrl);
  return `\
## 7. Limits

${table(["Limit", "Value", "Notes"], limitRows.map((row) => [row.limit, row.value, row.notes]))}

## 8. Retry policy

${numbered(retryPolicy)}

## 9. Client code to copy

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

To generate types for your own TypeScript client:

${code("sh", shell.types)}

Generators for other languages read the same OpenAPI document. The service's tests generate clients for TypeScript, Python,
Go and Java and post leads with them. With openapi-generator, set \`disallowAdditionalPropertiesIfNotPresent=false\`, so that your
client accepts new members in responses.

To list the terms of \`project_area\`:

${code("sh", shell.vocabulary)}

## 10. Client kits

${kitsSummary} ${kitsStatus} Every kit except the one for browsers can read its key from \`LEADS_API_KEY\` and its base URL from
\`LEADS_BASE_URL\` (\`${baseUrl}/\`).

${kitTabs()}

## 11. Definition of done

${bullets(definitionOfDone, "- [ ]")}
`;
}

/**
 * Renders the brief for a service at `baseUrl`, which has no trailing slash.
 *
 * Source: SPEC, Endpoints; DECISIONS, The integration brief's fixed parts.
 */
export function brief(baseUrl: string, contact: string | null = null): string {
  return [opening(baseUrl, contact), envelope, responses, closing(baseUrl)].join("\n");
}
