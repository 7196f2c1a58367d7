/**
 * The integration brief of the tenant forms: what the developer of a customer's website has to know, as one page of
 * Markdown. This module is browser compatible.
 *
 * @module
 */

import { contactSentence } from "./contact.ts";
import { documents } from "./documents.ts";
import { placeholders } from "./examples.ts";
import { type FormErrorCode, formErrors } from "./form_errors.ts";
import { formPlaceholders, honeypotName } from "./forms.ts";
import {
  formBodyRows,
  formDefinitionOfDone,
  formErrorMembers,
  formKeyCheck,
  formOutcomes,
  formRetryPolicy,
  formRules,
  submissionMembers,
} from "./forms_guidance.ts";
import { formFunction, formModule, formPhp, formShellSnippets } from "./forms_snippets.ts";
import { formLimitRows } from "./limit_rows.ts";
import { limits } from "./limits.ts";
import { bullets, type Cells, code, jsonCode, named, numbered, sentence, table, tabs } from "./markdown.ts";
import { rateHeaderNames } from "./rate_headers.ts";

const errorRows: readonly Cells[] = (Object.keys(formErrors) as FormErrorCode[]).map((name) => {
  const { status, condition, callerAction, retry } = formErrors[name];
  return [String(status), `\`${name}\``, sentence(condition), sentence(callerAction), retry];
});

const members = (rows: readonly { readonly name: string; readonly about: string }[]) =>
  bullets(rows.map(({ name, about }) => `\`${name}\`: ${about}`));

function opening(
  urls: { readonly forms: string; readonly intake: string },
  { formUrl, contact }: { readonly formUrl: string; readonly contact: string | null },
): string {
  const shell = formShellSnippets(formUrl);
  return `\
# Tenant forms: integration brief

For a customer's own websites, and for whoever builds them: what a visitor fills in reaches the customer's CRM and inbox.
One submission, one HTTPS \`POST\` from your web server; a 202 means that it is on disk, and that its delivery is too. A
lead provider uses the [lead intake](${urls.intake}${documents.brief.path}) instead.

- Endpoint: \`POST ${urls.forms}/v1/forms/{tenant}/{form_key}\`
- Health: <${urls.forms}/healthz>, plain text: \`ok\`, or 503 when nothing is being taken
- This page in a browser, with buttons that copy: <${urls.intake}${documents.formsBriefPage.path}>
- OpenAPI 3.0: <${urls.intake}${documents.openapi.path}>

\`{tenant}\` is the customer's slug and has to be the one of the key; \`{form_key}\` names one of the customer's forms. The
operator sets the form up, with its required fields, and issues the key. In the examples the form is \`${formPlaceholders.formKey}\`
of \`${formPlaceholders.tenant}\`: put in yours. The key is read from the environment variable \`FORMS_API_KEY\`.

This page is generated from the tables that the service itself works with, and served live. Fetch it, do not copy it.

## 1. Check key and form

${code("sh", shell.keyCheck)}

An empty object is the probe. It stores, delivers and emails nothing, and consumes no \`Idempotency-Key\`.

${table(["Answer", "Means"], formKeyCheck.map(({ answer, meaning }) => [answer, meaning]))}

The key is shown once, when it is issued. To rotate it get a second one, cut over, then have the first one revoked, which
takes effect at once.${contact === null ? "" : ` ${contactSentence(contact)}`}

## 2. Eight rules

${numbered(formRules)}

## 3. Post a submission

${code("sh", shell.submit)}

Request headers:

${
    table(["Header", "Needed", "What"], [
      [
        "`X-API-Key`",
        "required",
        "A key that was issued to the customer for forms: `form_live_…`, or `form_test_…`.",
      ],
      ["`Content-Type`", "required", "`application/json`"],
      ["`Content-Encoding`", "none", "A compressed body is 400 `invalid_json`."],
      [
        "`Idempotency-Key`",
        "optional",
        `Your name for the submission, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${formPlaceholders.idempotencyKey}\`: for a site that retries for longer than ${limits.formContentWindowMinutes} minutes. All forms of a customer share one namespace, apart from its leads; another submission under a used one is answered 200 and not delivered.`,
      ],
      [
        "`X-Request-Id`",
        "optional",
        `Your name for the request, up to ${limits.requestIdLengthMax} characters. Every answer has one. An edge may add the header a second time, with the same value: take the first.`,
      ],
    ])
  }

The checks come in this order: limit per address, method, size, key (401), tenant (403), limit per customer, form (404),
body (400), idempotency and commit.
`;
}

const body = `\
## 4. The body

A flat JSON object, UTF-8. Required fields are checked before the honeypot.

${table(["Member", "Rules"], formBodyRows)}

The honeypot in HTML, for one:

${
  code(
    "html",
    `<div style="position: absolute; left: -9999px" aria-hidden="true">
  <label>Website <input type="text" name="${honeypotName}" tabindex="-1" autocomplete="off"></label>
</div>`,
  )
}

## 5. Answers

${
  jsonCode({
    status: "accepted",
    submission_id: placeholders.eventId,
    received_at: placeholders.receivedAt,
  })
}

${members(submissionMembers)}

${
  table(["Status", "`status`", "Means"], [
    ["202", "`accepted`", "The submission and its delivery record are on disk. Thank the visitor."],
    ["200", "`duplicate`", "The same submission again, with the first one's id and time. As good as 202."],
  ])
}

No other answer promises anything. A 4xx has stored nothing; after a 503 or a time-out the retry finds out what became of
the submission.

${jsonCode({ error: "missing_required", request_id: placeholders.requestId, fields: { email: "required" } })}

${members(formErrorMembers)}

${table(["Status", "`error`", "When", "Do", "Retry"], errorRows)}

${
  named(rateHeaderNames)
} tell what is left of each limit. Answers may gain members and codes: ignore what you do not
know.

## 6. What becomes of it

${bullets(formOutcomes)}

## 7. Limits

${table(["Limit", "Value", "About"], formLimitRows.map((row) => [row.limit, row.value, row.appliesTo]))}

## 8. Retry policy

${numbered(formRetryPolicy)}
`;

function closing(formUrl: string): string {
  return `\
## 9. For your web server

A function to call with what a visitor filled in. It says whether that was sent, and which fields are missing; the log
has the rest.

${
    tabs("function", [
      { title: "PHP", text: code("php", formPhp(formUrl)) },
      { title: "JavaScript", text: code("js", formFunction(formUrl)) },
      { title: "Python", text: code("python", formModule(formUrl)) },
    ])
  }

## 10. Definition of done

${bullets(formDefinitionOfDone, "- [ ]")}
`;
}

/**
 * The brief for forms that are reached at `urls.forms`, without a slash at the end.
 *
 * Source: SPEC, Tenant forms; DECISIONS, Forms.
 */
export function formsBrief(
  urls: { readonly forms: string; readonly intake: string },
  contact: string | null = null,
): string {
  const formUrl = `${urls.forms}/v1/forms/${formPlaceholders.tenant}/${formPlaceholders.formKey}`;
  return [opening(urls, { formUrl, contact }), body, closing(formUrl)].join("\n");
}
