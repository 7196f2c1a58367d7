/**
 * The integration brief: what a partner's developer has to know, as one page of Markdown. This module is
 * browser compatible.
 *
 * @module
 */

import { documents } from "./documents.ts";
import { type ErrorCode, errors } from "./errors.ts";
import { placeholders } from "./examples.ts";
import { fieldNames, fields, flagNames, flags, projectServices } from "./fields.ts";
import {
  definitionOfDone,
  dollars,
  grouped,
  keyCheck,
  limitRows,
  normalization,
  retryPolicy,
  rules,
} from "./guidance.ts";
import { limits } from "./limits.ts";
import { clientModule, clientProgram, shellSnippets } from "./snippets.ts";

type Row = readonly string[];

function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const bullets = (items: Row, mark = "-") => items.map((item) => `${mark} ${item}`).join("\n");
const numbered = (items: Row) => items.map((item, index) => `${index + 1}. ${item}`).join("\n");
const code = (language: string, text: string) => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The envelope's rows: `name`, required, cap, rules. */
export const envelopeRows: readonly Row[] = [
  ...fieldNames.map((name) => {
    const { required, lengthMax, description } = fields[name];
    return [`\`${name}\``, required ? "yes" : "no", grouped(lengthMax), description];
  }),
  [
    "`cost`",
    "no",
    `${dollars(limits.costCentsMin)}–${dollars(limits.costCentsMax)}`,
    "A number: what the contact cost, in US dollars, rounded to cents. No charge: leave it out.",
  ],
  ["`extra`", "reserved", "", "Do not send it. Anything but an object makes the whole body `invalid_json`."],
  ["`source`", "not a field", "", "The key's label is the source. One that is sent is kept under `extra`."],
  ["anything else", "no", "", "Kept as it was sent, under `extra`, and flagged `extra_fields_preserved`."],
];

const errorRows: readonly Row[] = (Object.keys(errors) as ErrorCode[]).map((name) => {
  const { status, condition, callerAction, retry } = errors[name];
  return [String(status), `\`${name}\``, sentence(condition), sentence(callerAction), retry];
});

function opening(baseUrl: string): string {
  const shell = shellSnippets(baseUrl);
  return `\
# Lead intake: integration brief

One lead, one HTTPS \`POST\`, one honest answer: a 202 means that the lead is on disk, and that its delivery is too. No
SDK, no OAuth, no webhook, nothing to poll.

- Endpoint: \`POST ${baseUrl}/v1/intake\`
- OpenAPI 3.0: <${baseUrl}${documents.openapi.path}>
- Playground, which runs the real validator in your browser and posts nothing: <${baseUrl}${documents.playground.path}>
- Vocabulary: <${baseUrl}/v1/vocabulary> · Health: <${baseUrl}/healthz>

This page is generated from the tables that the service itself works with, and served live. Fetch it, do not copy it.
The commands below read your key from the environment variable \`LEAD_API_KEY\`.

## 1. Check the key

${code("sh", shell.keyCheck)}

An empty object is the only probe that production allows. It stores, delivers and emails nothing, and consumes no
\`Idempotency-Key\`.

${table(["Answer", "Means"], keyCheck.map(({ answer, meaning }) => [answer, meaning]))}

## 2. Eight rules

${numbered(rules)}

## 3. Post a lead

Use a sandbox key (\`lead_test_…\`) until you go live; ask for one.

${code("sh", shell.postLead)}

Request headers:

${
    table(["Header", "", "What"], [
      ["`X-API-Key`", "required", "Your key. It names the customer and carries your label."],
      ["`Content-Type`", "required", "`application/json`"],
      [
        "`Idempotency-Key`",
        "recommended",
        `Your name for the lead, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${placeholders.idempotencyKey}\`. All keys of one customer share one namespace: a bare number can collide with another source's lead, whose \`event_id\` you would get with a silent 200. Not a timestamp, not made anew for an attempt.`,
      ],
      [
        "`X-Request-Id`",
        "optional",
        `Your name for the request, up to ${limits.requestIdLengthMax} characters. Every answer has one.`,
      ],
    ])
  }
`;
}

const envelope = `\
## 4. The envelope

One JSON object, UTF-8. All fields are strings, except \`cost\`. A field of the wrong type makes the whole body
\`invalid_json\`. \`project_service\` is one of ${projectServices.map((name) => `\`${name}\``).join(", ")}.

${table(["Field", "Required", "Cap", "Rules"], envelopeRows)}

Before it is stored:

${bullets(normalization)}
`;

const answers = `\
## 5. Answers

A 202 or a 200 is final. Both have the same body:

${
  code(
    "json",
    JSON.stringify(
      {
        event_id: placeholders.eventId,
        status: "accepted",
        received_at: placeholders.receivedAt,
        source: placeholders.source,
        flags: [],
      },
      null,
      2,
    ),
  )
}

${
  table(["Status", "`status`", "Means"], [
    ["202", "`accepted`", "The lead and its delivery record are on disk, in one transaction."],
    [
      "200",
      "`duplicate`",
      "This `Idempotency-Key` was accepted before: the first lead's `event_id`, no second lead. A success.",
    ],
  ])
}

\`event_id\` is opaque; only its order means something. Every other answer has an \`error\`, and nearly every one a
\`request_id\`; the header \`X-Request-Id\` is on all of them. \`fields\` comes with 422 and names every failing field at
once: \`required\`, \`too_long\` or \`out_of_range\`.

${table(["Status", "`error`", "When", "Do", "Retry"], errorRows)}

\`RateLimit\` and \`RateLimit-Policy\` tell what is left of each limit.

## 6. Flags

Observations on an accepted lead. Never rejections; never retry because of one.

${table(["Flag", "Means"], flagNames.map((flag) => [`\`${flag}\``, flags[flag]]))}
`;

function closing(baseUrl: string): string {
  const shell = shellSnippets(baseUrl);
  return `\
## 7. Limits

${table(["Limit", "Value", "About"], limitRows.map((row) => [row.limit, row.value, row.appliesTo]))}

## 8. Retry policy

${numbered(retryPolicy)}

## 9. A client in TypeScript

${code("ts", clientModule(baseUrl))}

${code("ts", clientProgram)}

Types for your own client:

${code("sh", shell.types)}

The terms of \`project_area\`, live:

${code("sh", shell.vocabulary)}

## 10. Definition of done

${bullets(definitionOfDone, "- [ ]")}
`;
}

/**
 * The brief for a service that is reached at `baseUrl`, without a slash at the end.
 *
 * Source: SPEC, Endpoints; DECISIONS, The integration brief's fixed parts.
 */
export function brief(baseUrl: string): string {
  return [opening(baseUrl), envelope, answers, closing(baseUrl)].join("\n");
}
