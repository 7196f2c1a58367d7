/**
 * The integration brief of the forms for website developers, as a page of Markdown; tests run its code. This module is
 * browser compatible.
 */

import { contactSentence } from "../contract/contact.ts";
import { formErrors } from "../contract/errors.ts";
import {
  attributionNames,
  attributionSources,
  formExample,
  formKeyName,
  formPlaceholders,
  honeypotName,
  startedAtName,
} from "../contract/forms.ts";
import { limits } from "../contract/limits.ts";
import { rateHeaderNames } from "../contract/rate_headers.ts";
import { placeholders } from "./examples.ts";
import { detailAbout, formLimitRows } from "./guidance.ts";
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
import { shellQuoted, unindented } from "./snippets.ts";

/** The rules for website developers. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formRules = [
  "Send one submission a `POST`, from your web server, over HTTPS, while the visitor waits. There is no CORS: a browser cannot post here.",
  "Keep the key in a secret store and send it only in the `X-API-Key` header: never in a page, in code, a URL or a log.",
  "Check key and form with `{}`, never with an invented visitor.",
  `Put the honeypot into the form: a text field \`${honeypotName}\` that people do not see. Send its value unchanged.`,
  `Send ${named(attributionSources)}: the service reads the campaign from them.`,
  "Send what the visitor wrote, unchanged: the service trims nothing.",
  "On 202 and 200, thank the visitor. On `missing_required`, show the visitor what is missing.",
  "Retry only 5xx, time-outs and 429, following the retry policy.",
] as const;

/** What each answer to the probe says. Source: SPEC, Tenant forms (probe). */
export const formKeyCheck = [
  {
    answer: "400 `missing_required`",
    meaning: "Key and form are right; `fields` lists what the form requires.",
  },
  {
    answer: "401 `unauthorized`",
    meaning: "The key is missing, mistyped or revoked, or it is an intake key.",
  },
  { answer: "403 `tenant_mismatch`", meaning: "The address names a customer other than the key's." },
  { answer: "404 `form_not_found`", meaning: "The customer has no such form." },
  {
    answer: "429 `rate_limited`",
    meaning: "Too many posts. If the limit of your address was reached, this says nothing about the key.",
  },
  { answer: "503 `not_accepting`", meaning: "The service cannot look up the key at the moment. Try again." },
  {
    answer: "connection refused, or a time-out",
    meaning: "You used `http://` instead of `https://`, or your network blocks outgoing connections.",
  },
] as const;

/** The members of a body that mean something to the service: name and rules. */
export const formBodyRows: readonly Cells[] = [
  [
    "whatever the form collects",
    "Text, numbers, `true`, `false` or `null`, kept as sent. An array or an object is `invalid_json`.",
  ],
  [
    "the form's required fields",
    "The operator sets them; the probe lists them. A missing, `null` or blank one is `missing_required`; 0 and `false` count as filled in.",
  ],
  [
    `\`${honeypotName}\``,
    "The honeypot. Any value marks a bot: the answer is the same, and nothing is delivered. Blank, `null` and `false` count as empty.",
  ],
  [
    named(attributionSources),
    `The address of the page and of its referrer. ${
      named(attributionNames)
    } are read from the query of the first, and from the second if the first lacks them.`,
  ],
  [
    `\`${startedAtName}\``,
    "When the form was opened: ISO 8601 with its zone, or Unix time in seconds or milliseconds. A form filled in faster than a person could is a sign of a bot.",
  ],
  [`\`${formKeyName}\``, "Ignored: the address names the form."],
];

/** What becomes of a submission. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formOutcomes = [
  "It is stored and delivered to the customer's CRM and mail in the background, with retries until that succeeds. No webhook or status reports it.",
  "Or it is held as spam, because of its content or the honeypot: stored, not delivered, and answered like any other, so that a bot learns nothing. The customer's operator can release it.",
  "An email address that does not look like one is kept as sent, and the customer sees a note (`email_shape_suspect` in the webhook). The answer is the same, so check addresses in the page, while the visitor can correct them.",
  `Or it is a repeat: the same fields in the same form within ${limits.formContentWindowMinutes} minutes, or any submission with a used \`Idempotency-Key\`. Nothing more is delivered.`,
] as const;

/** What an acknowledgement has. Source: DECISIONS, Forms. */
export const submissionMembers = [
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  {
    name: "submission_id",
    about:
      "Identifies the submission, for you and for support. Opaque: never parse it. A repeat has the id of the first.",
  },
  { name: "received_at", about: "When it was accepted: UTC, ISO 8601." },
] as const;

/** What an error body has. Source: DECISIONS, Forms and Decided since. */
export const formErrorMembers = [
  { name: "error", about: "Machine-readable code, always present." },
  {
    name: "request_id",
    about:
      "The request's id. The body of a 413 and of the per-address 429 does not have it; the header `X-Request-Id` is always present.",
  },
  {
    name: "fields",
    about:
      "With `missing_required`: every field that is missing, each `required`. With `invalid_json`, when the `Idempotency-Key` is `too_long`.",
  },
  { name: "detail", about: `Optional, with 400 and 401: ${detailAbout}` },
] as const;

/** The client's side of the contract. Source: SPEC, Errors (tenant forms) and Client retry policy. */
export const formRetryPolicy = [
  "Retry on any 5xx, on a time-out or transport error, and on 429 after `Retry-After`. Never retry any other 4xx.",
  `Back off exponentially, with jitter and a cap of ${limits.backoffCapSeconds} s. A visitor waits: give up after a few tries, ${
    limits.requestTimeoutMs / 1000
  } s in all, keep what the visitor wrote, and say so.`,
  `Send the same body on every retry; within ${limits.formContentWindowMinutes} minutes it is the same submission. If you retry for longer, send an \`Idempotency-Key\`, a new one for each submission.`,
  "Log `request_id` on every failure.",
] as const;

/** What has to be true before a form goes live. */
export const formDefinitionOfDone = [
  "The key check answers 400 `missing_required`.",
  "A submission with a sandbox key (`form_test_…`) answers 202.",
  "Its repeat answers 200 with the same `submission_id`.",
  "The page shows visitors what they left out.",
  `\`${honeypotName}\` is in the form, hidden, and sent; so are ${named(attributionSources)}.`,
  "429 and 503 are retried with backoff and jitter.",
  "A 401, 403 or 404 alerts a person.",
  "No key is in a page, in code, a URL or a log.",
] as const;

const triesMax = 4;
const waitMsMax = limits.backoffCapSeconds * 1000;

function curl(formUrl: string, body: string): string {
  return [
    `curl -sS -i ${formUrl}`,
    `-H "X-API-Key: $FORMS_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `--data-raw ${shellQuoted(body)}`,
  ].join(" \\\n  ");
}

/** Shell commands, by what they are for. */
export function formShellSnippets(formUrl: string) {
  return {
    keyCheck: curl(formUrl, "{}"),
    submit: curl(formUrl, JSON.stringify(formExample, null, 2)),
  } as const;
}

/** A function for a web server in JavaScript, without a dependency. */
export function formFunction(formUrl: string): string {
  return unindented(`
    // submit_form.js: for Node 22 or later, Deno, Bun and edge runtimes.
    const form = "${formUrl}";

    /** Sends what a visitor filled in; \`fields\` of the outcome says what is missing. */
    export async function submitForm(fields) {
      const giveUpAtMs = performance.now() + ${limits.requestTimeoutMs}; // A visitor waits.
      for (let tries = 1;; tries++) {
        const answer = await fetch(form, {
          method: "POST",
          headers: { "X-API-Key": process.env.FORMS_API_KEY, "Content-Type": "application/json" },
          body: JSON.stringify(fields),
          signal: AbortSignal.timeout(Math.max(1, Math.ceil(giveUpAtMs - performance.now()))),
        }).catch(() => null);
        if (answer?.ok) return { isSent: true, fields: {} };
        const mayRetry = answer === null || answer.status === 429 || answer.status >= 500;
        // In seconds; an edge may send a date, which is no number.
        const floorMs = (Number(answer?.headers.get("Retry-After")) || 0) * 1000;
        const waitMs = floorMs + Math.random() * Math.min(${waitMsMax}, 500 * 2 ** tries);
        if (!mayRetry || tries === ${triesMax} || performance.now() + waitMs >= giveUpAtMs) {
          const { error, request_id, fields: missing = {} } = await answer?.json().catch(() => ({})) ?? {};
          if (error !== "missing_required") console.error("form not sent:", answer?.status, error, request_id);
          return { isSent: false, fields: missing };
        }
        await new Promise((done) => setTimeout(done, waitMs));
      }
    }
  `);
}

/** The same in Python. */
export function formModule(formUrl: string): string {
  return unindented(`
    # submit_form.py: for Python 3.9 or later; there is nothing to install.
    import http.client
    import json
    import os
    import random
    import sys
    import time
    import urllib.error
    import urllib.request

    FORM = "${formUrl}"


    def submit_form(fields):
        """Sends what a visitor filled in. Returns whether it was sent, and what is missing."""
        headers = {"X-API-Key": os.environ["FORMS_API_KEY"], "Content-Type": "application/json"}
        request = urllib.request.Request(FORM, json.dumps(fields).encode(), headers)
        give_up_at = time.monotonic() + ${limits.requestTimeoutMs / 1000}  # A visitor waits.
        for tries in range(1, ${triesMax + 1}):
            status, floor, answer = 0, 0, {}
            try:
                with urllib.request.urlopen(request, timeout=max(0.1, give_up_at - time.monotonic())):
                    return True, {}
            except urllib.error.HTTPError as refusal:
                status = refusal.code
                try:
                    answer = json.load(refusal)
                except (OSError, ValueError, http.client.HTTPException):
                    pass  # Half an answer: the status says enough.
                try:
                    floor = int(refusal.headers.get("Retry-After") or 0)
                except ValueError:
                    pass  # An edge may send a date.
            except (OSError, http.client.HTTPException):
                pass  # No connection, or no answer in time: the retry finds out what became of it.
            if status not in (0, 429) and status < 500:
                break
            wait = floor + random.random() * min(${limits.backoffCapSeconds}, 0.5 * 2**tries)
            if tries == ${triesMax} or time.monotonic() + wait >= give_up_at:
                break
            time.sleep(wait)
        if answer.get("error") != "missing_required":
            print("form not sent:", status, answer.get("error"), answer.get("request_id"), file=sys.stderr)
        return False, answer.get("fields", {})
  `);
}

/** The same in PHP, which most websites run on. */
export function formPhp(formUrl: string): string {
  return unindented(`
    <?php
    // submit_form.php: for PHP 8.1 or later, with its curl.
    const FORM = '${formUrl}';

    /** Sends what a visitor filled in. Returns whether it was sent, and what is missing. */
    function submit_form(array $fields): array
    {
        $give_up_at = microtime(true) + ${limits.requestTimeoutMs / 1000}; // A visitor waits.
        for ($tries = 1;; $tries++) {
            $retry_after = '';
            $curl = curl_init(FORM);
            curl_setopt_array($curl, [
                CURLOPT_HTTPHEADER => ['X-API-Key: ' . getenv('FORMS_API_KEY'), 'Content-Type: application/json'],
                CURLOPT_POSTFIELDS => json_encode((object) $fields, JSON_INVALID_UTF8_SUBSTITUTE),
                CURLOPT_TIMEOUT_MS => max(1, (int) (1000 * ($give_up_at - microtime(true)))),
                CURLOPT_RETURNTRANSFER => true,
                CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$retry_after): int {
                    if (stripos($line, 'Retry-After:') === 0) {
                        $retry_after = trim(substr($line, 12));
                    }
                    return strlen($line);
                },
            ]);
            $text = curl_exec($curl);
            $status = $text === false ? 0 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
            if ($status >= 200 && $status < 300) {
                return ['isSent' => true, 'fields' => []];
            }
            $may_retry = $status === 0 || $status === 429 || $status >= 500;
            // In seconds; an edge may send a date, which is no number.
            $floor = ctype_digit($retry_after) ? (int) $retry_after : 0;
            $wait = $floor + mt_rand() / mt_getrandmax() * min(${limits.backoffCapSeconds}, 0.5 * 2 ** $tries);
            if (!$may_retry || $tries === ${triesMax} || microtime(true) + $wait >= $give_up_at) {
                break;
            }
            usleep((int) (1_000_000 * $wait));
        }
        $answer = json_decode((string) $text, true) ?? [];
        $error = $answer['error'] ?? '';
        if ($error !== 'missing_required') {
            error_log("form not sent: $status $error " . ($answer['request_id'] ?? ''));
        }
        return ['isSent' => false, 'fields' => $answer['fields'] ?? []];
    }
  `);
}

function opening(
  urls: { readonly forms: string; readonly intake: string },
  { formUrl, contact }: { readonly formUrl: string; readonly contact: string | null },
): string {
  const shell = formShellSnippets(formUrl);
  return `\
# Tenant forms: integration brief

For developers of a customer's websites: what a visitor submits reaches the customer's CRM and inbox.
Send each submission with one HTTPS \`POST\` from your web server. A 202 means that it and its delivery record are on disk.
If you provide leads, use the [lead intake](${urls.intake}${documents.brief.path}) instead.

- Endpoint: \`POST ${urls.forms}/v1/forms/{tenant}/{form_key}\`
- Health: <${urls.forms}/healthz>, plain text: \`ok\`, or 503 when the service accepts nothing
- This page in a browser, with copy buttons: <${urls.intake}${documents.formsBriefPage.path}>
- OpenAPI 3.0: <${urls.intake}${documents.openapi.path}>

\`{tenant}\` is the customer's slug and must match the key; \`{form_key}\` names one of the customer's forms. The
operator sets the form up, with its required fields, and issues the key. In the examples the form is \`${formPlaceholders.formKey}\`
of \`${formPlaceholders.tenant}\`: replace both. The key is read from the environment variable \`FORMS_API_KEY\`.

This page is generated from the tables that the service itself uses, and served live. Fetch it instead of copying it.

## 1. Check key and form

${code("sh", shell.keyCheck)}

An empty object is the probe. It stores, delivers and emails nothing, and consumes no \`Idempotency-Key\`.

${table(["Answer", "Means"], formKeyCheck.map(({ answer, meaning }) => [answer, meaning]))}

The key is shown once, when it is issued. To rotate it, get a second one, cut over, then have the first one revoked, which
takes effect immediately.${contact === null ? "" : ` ${contactSentence(contact)}`}

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
        "A forms key of the customer: `form_live_…`, or `form_test_…`.",
      ],
      ["`Content-Type`", "required", "`application/json`"],
      ["`Content-Encoding`", "none", "A compressed body is 400 `invalid_json`."],
      [
        "`Idempotency-Key`",
        "optional",
        `Your id for the submission, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${formPlaceholders.idempotencyKey}\`: for sites that retry for longer than ${limits.formContentWindowMinutes} minutes. All forms of a customer share one namespace, separate from its leads; another submission with a used one is answered 200 and not delivered.`,
      ],
      [
        "`X-Request-Id`",
        "optional",
        `Your id for the request, up to ${limits.requestIdLengthMax} characters. Every answer has one. An edge may repeat the header with the same value: use the first.`,
      ],
    ])
  }

The service checks in this order: limit per address, method, size, key (401), tenant (403), limit per customer, form (404),
body (400), idempotency and commit.
`;
}

const body = `\
## 4. The body

A flat JSON object, UTF-8. Required fields are checked before the honeypot.

${table(["Member", "Rules"], formBodyRows)}

The honeypot in HTML, for example:

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

${memberList(submissionMembers)}

${
  table(["Status", "`status`", "Means"], [
    ["202", "`accepted`", "The submission and its delivery record are on disk. Thank the visitor."],
    [
      "200",
      "`duplicate`",
      "The same submission again: id and time are those of the first. Treat it like 202.",
    ],
  ])
}

No other answer confirms anything. After a 4xx nothing is stored; after a 503 or a time-out, retry to find out whether the
submission was accepted.

${jsonCode({ error: "missing_required", request_id: placeholders.requestId, fields: { email: "required" } })}

${memberList(formErrorMembers)}

${errorTable(formErrors)}

${
  named(rateHeaderNames)
} show the remaining budget of each limit. Answers may gain members and codes: ignore those that you do
not know.

## 6. What happens to a submission

${bullets(formOutcomes)}

## 7. Limits

${table(["Limit", "Value", "About"], formLimitRows.map((row) => [row.limit, row.value, row.appliesTo]))}

## 8. Retry policy

${numbered(formRetryPolicy)}
`;

function closing(formUrl: string): string {
  return `\
## 9. For your web server

Call this function with what a visitor filled in. It returns whether that was sent, and which fields are missing; the rest is
in the log.

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
