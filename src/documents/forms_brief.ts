/**
 * The forms' integration brief for website developers, in Markdown. Tests run its code. This module is browser compatible.
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
import { placeholders, submissionExample } from "./examples.ts";
import { commonErrorMembers, detailAbout, formKeyCheck, formLimitRows } from "./guidance.ts";
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
import { curlPost, dedent } from "./snippets.ts";

/** The rules for website developers. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formRules = [
  "Send one submission per `POST`, from your web server, over HTTPS, while the visitor waits. There is no CORS, so a page cannot post here.",
  "Keep the key in a secret store and send it only in the `X-API-Key` header: never in a page, in code, a URL or a log.",
  "Test the key and the form by posting `{}`, never a made-up submission.",
  `Add the honeypot to the form: a text field \`${honeypotName}\` that people do not see. Send its value unchanged.`,
  `Send ${
    codeList(attributionSources)
  }: the service reads the campaign from them. If the visitor arrived on an earlier page than the form's, add that page's campaign parameters to the query of \`page_url\`, and send that page's referrer.`,
  "Send the visitor's text unchanged; the service does not trim it.",
  "On 202 and 200, thank the visitor. On `missing_required`, show the visitor what is missing.",
  "Retry only 5xx, timeouts and 429, and follow the retry policy.",
] as const;

/** The members of a request body, with their rules. */
export const formBodyRows: readonly Cells[] = [
  [
    "any field of the form",
    "Text, numbers, `true`, `false` or `null`, stored as sent. An array or an object gets `invalid_json`: send several values of one name as one text, joined with a comma and a space, and the name without `[]`. Files cannot be sent.",
  ],
  [
    "the form's required fields",
    "The operator sets them; the probe lists them. A missing, `null` or blank field gets `missing_required`; 0 and `false` count as filled in.",
  ],
  [
    `\`${honeypotName}\``,
    "The honeypot. Any value marks a bot: the response is the same, but nothing is delivered. Blank, `null` and `false` count as empty.",
  ],
  [
    codeList(attributionSources),
    `The URLs of the page and of its referrer. Each of ${
      codeList(attributionNames)
    } is read from the query of the page's URL or, if missing there, of the referrer's.`,
  ],
  [
    `\`${startedAtName}\``,
    "When the visitor opened the form: ISO 8601 with a time zone, or Unix time in seconds or milliseconds. If the form is filled in faster than a person can type, that indicates a bot.",
  ],
  [`\`${formKeyName}\``, "Ignored: the URL names the form."],
];

/** The possible outcomes of a submission. Source: SPEC, Tenant forms; DECISIONS, Forms. */
export const formOutcomes = [
  "Normally it is stored, then delivered to the customer's CRM and inbox in the background, with retries if that fails. No webhook or status reports the delivery.",
  "If its content or the honeypot indicates spam, it is held: stored but not delivered. The response is the same, so that a bot learns nothing. The operator can release it.",
  `If it is a repeat, nothing more is delivered. A repeat has the same fields in the same form within ${limits.formContentWindowMinutes} minutes (times, tokens and page addresses are not compared), or a used \`Idempotency-Key\`.`,
  "A malformed email address is stored as sent, and the customer sees a note (`email_shape_suspect` in the webhook). The response is the same, so check addresses in the page, while the visitor can correct them.",
] as const;

/** The members of an acknowledgement. Source: DECISIONS, Forms. */
export const submissionMembers = [
  { name: "status", about: "`accepted` with 202, `duplicate` with 200." },
  {
    name: "submission_id",
    about:
      "Identifies the submission, for you and for support. Opaque: never parse it. A repeat returns the ID of the first submission.",
  },
  { name: "received_at", about: "When the submission was accepted: UTC, ISO 8601." },
] as const;

/** The members of an error body. Source: DECISIONS, Forms and Decided since. */
export const formErrorMembers = [
  ...commonErrorMembers,
  {
    name: "fields",
    about:
      "With `missing_required`: every missing field, each with `required`. With `invalid_json`: only `Idempotency-Key`, if it is `too_long`.",
  },
  { name: "detail", about: `Optional, with 400 and 401: ${detailAbout}` },
] as const;

/** The client's retry policy. Source: SPEC, Errors (tenant forms) and Client retry policy. */
export const formRetryPolicy = [
  "Retry on any 5xx, on a timeout or transport error, and on 429 after `Retry-After`. Never retry any other 4xx.",
  `Back off exponentially, with jitter and a cap of ${limits.backoffCapSeconds} s. Because a visitor is waiting, give up after a few tries and at most ${
    limits.requestTimeoutMs / 1000
  } s, keep the visitor's input, and report the failure.`,
  `Send the same body on every retry; within ${limits.formContentWindowMinutes} minutes it counts as the same submission. If you retry for longer, send an \`Idempotency-Key\`, and a new one for each submission.`,
  "Log `request_id` on every failure.",
] as const;

/** The conditions for going live. */
export const formDefinitionOfDone = [
  "The key check returns 400 `missing_required`.",
  "A submission with a sandbox key (`form_test_…`) returns 202.",
  "Its repeat returns 200 with the same `submission_id`.",
  "The page shows visitors which required fields are missing.",
  `The form has the hidden field \`${honeypotName}\`, and you send its value.`,
  `You send ${codeList(attributionSources)}.`,
  "429 and 503 are retried with backoff and jitter.",
  "A 401, 403 or 404 alerts a person.",
  "No key is in a page, in code, a URL or a log.",
] as const;

const triesMax = 4;
const waitMsMax = limits.backoffCapSeconds * 1000;

/** Returns the shell commands for the brief. */
export function formShellSnippets(formUrl: string) {
  const post = (body: string) => curlPost(formUrl, { body, keyVariable: "FORMS_API_KEY" });
  return { keyCheck: post("{}"), submit: post(JSON.stringify(formExample, null, 2)) } as const;
}

/** Returns a JavaScript function for a web server, without dependencies. */
export function formJavaScript(formUrl: string): string {
  return dedent(`
    // submit_form.js: for Node 22 or later, Deno, Bun and edge runtimes.
    const form = "${formUrl}";

    /** Sends a submission. Returns whether it was sent, its ID, and the missing fields. */
    export async function submitForm(fields) {
      const deadlineMs = performance.now() + ${limits.requestTimeoutMs}; // A visitor is waiting.
      for (let tries = 1;; tries++) {
        const response = await fetch(form, {
          method: "POST",
          headers: { "X-API-Key": process.env.FORMS_API_KEY, "Content-Type": "application/json" },
          body: JSON.stringify(fields),
          signal: AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs - performance.now()))),
        }).catch(() => null);
        const body = await response?.json().catch(() => null) ?? {};
        if (response?.ok) return { isSent: true, submissionId: body.submission_id ?? null, fields: {} };
        const canRetry = response === null || response.status === 429 || response.status >= 500;
        // In seconds; an edge proxy may send a date instead, which counts as 0.
        const retryAfterMs = (Number(response?.headers.get("Retry-After")) || 0) * 1000;
        const waitMs = retryAfterMs + Math.random() * Math.min(${waitMsMax}, 500 * 2 ** tries);
        if (!canRetry || tries === ${triesMax} || performance.now() + waitMs >= deadlineMs) {
          const { error, request_id, fields: missing = {} } = body;
          if (error !== "missing_required") console.error("form not sent:", response?.status, error, request_id);
          return { isSent: false, submissionId: null, fields: missing };
        }
        await new Promise((done) => setTimeout(done, waitMs));
      }
    }
  `);
}

/** Returns {@linkcode formJavaScript}'s function in Python. */
export function formPython(formUrl: string): string {
  return dedent(`
    # submit_form.py: for Python 3.9 or later, without dependencies.
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
        """Sends a submission. Returns whether it was sent, its ID, and the missing fields."""
        headers = {"X-API-Key": os.environ.get("FORMS_API_KEY", ""), "Content-Type": "application/json"}
        request = urllib.request.Request(FORM, json.dumps(fields).encode(), headers)
        deadline = time.monotonic() + ${limits.requestTimeoutMs / 1000}  # A visitor is waiting.
        for tries in range(1, ${triesMax + 1}):
            status, retry_after, body = 0, 0, {}
            try:
                with urllib.request.urlopen(request, timeout=max(0.1, deadline - time.monotonic())) as response:
                    return True, read_json(response).get("submission_id"), {}
            except urllib.error.HTTPError as response:
                status, body = response.code, read_json(response)
                try:
                    retry_after = min(int(response.headers.get("Retry-After") or 0), 86_400)
                except ValueError:
                    pass  # An edge proxy may send a date.
            except (OSError, http.client.HTTPException):
                pass  # No connection, or no response in time: retry.
            if status not in (0, 429) and status < 500:
                break
            wait = retry_after + random.random() * min(${limits.backoffCapSeconds}, 0.5 * 2**tries)
            if tries == ${triesMax} or time.monotonic() + wait >= deadline:
                break
            time.sleep(wait)
        if body.get("error") != "missing_required":
            print("form not sent:", status, body.get("error"), body.get("request_id"), file=sys.stderr)
        return False, None, body.get("fields", {})


    def read_json(response):
        """Returns the body, or {} if it is incomplete: the status is enough."""
        try:
            return dict(json.load(response))
        except (OSError, TypeError, ValueError, http.client.HTTPException):
            return {}
  `);
}

/** Returns {@linkcode formJavaScript}'s function in PHP. */
export function formPhp(formUrl: string): string {
  return dedent(`
    <?php
    // submit_form.php: for PHP 8.1 or later with the curl extension.
    const FORM = '${formUrl}';

    /** Sends a submission. Returns whether it was sent, its ID, and the missing fields. */
    function submit_form(array $fields): array
    {
        $deadline = microtime(true) + ${limits.requestTimeoutMs / 1000}; // A visitor is waiting.
        for ($tries = 1;; $tries++) {
            $retry_after = '';
            $curl = curl_init(FORM);
            curl_setopt_array($curl, [
                CURLOPT_HTTPHEADER => ['X-API-Key: ' . getenv('FORMS_API_KEY'), 'Content-Type: application/json'],
                CURLOPT_POSTFIELDS => json_encode((object) $fields, JSON_INVALID_UTF8_SUBSTITUTE),
                CURLOPT_TIMEOUT_MS => max(1, (int) (1000 * ($deadline - microtime(true)))),
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
            $body = json_decode((string) $text, true) ?? [];
            if ($status >= 200 && $status < 300) {
                return ['isSent' => true, 'submissionId' => $body['submission_id'] ?? null, 'fields' => []];
            }
            $can_retry = $status === 0 || $status === 429 || $status >= 500;
            // In seconds; an edge proxy may send a date instead, which counts as 0.
            $wait = ctype_digit($retry_after) ? (int) min($retry_after, 86_400) : 0;
            $wait += mt_rand() / mt_getrandmax() * min(${limits.backoffCapSeconds}, 0.5 * 2 ** $tries);
            if (!$can_retry || $tries === ${triesMax} || microtime(true) + $wait >= $deadline) {
                break;
            }
            usleep((int) (1_000_000 * $wait));
        }
        $error = $body['error'] ?? '';
        if ($error !== 'missing_required') {
            error_log("form not sent: $status $error " . ($body['request_id'] ?? ''));
        }
        return ['isSent' => false, 'submissionId' => null, 'fields' => $body['fields'] ?? []];
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

This brief is for developers of a customer's websites. The service delivers each visitor's submission to the customer's CRM
and inbox. Send each submission with one HTTPS \`POST\` from your web server. A 202 means that the submission and its delivery
record are on disk. If you provide leads, use the [lead intake](${urls.intake}${documents.brief.path}) instead.

- Endpoint: \`POST ${urls.forms}/v1/forms/{tenant}/{form_key}\`
- Health: <${urls.forms}/healthz>, which returns \`ok\` as plain text, or 503 if the service does not accept posts
- This page as HTML, with copy buttons: <${urls.intake}${documents.formsBriefPage.path}>
- Playground, which shows the response and the email as you type, and sends nothing: <${urls.forms}${documents.formsPlayground.path}>
- OpenAPI 3.0: <${urls.intake}${documents.openapi.path}>

\`{tenant}\` is the customer's slug and must match the key; \`{form_key}\` names one of the customer's forms. The
operator sets up the form and its required fields, and issues the key. The examples use the form \`${formPlaceholders.formKey}\`
of \`${formPlaceholders.tenant}\`: replace both. They read the key from the environment variable \`FORMS_API_KEY\`.

This page is generated from the same definitions that the service validates requests with. Fetch it instead of keeping a copy.

## 1. Check the key and the form

${code("sh", shell.keyCheck)}

An empty object is the probe. It stores, delivers and emails nothing, and consumes no \`Idempotency-Key\`.

${table(["Response", "Meaning"], formKeyCheck.map(({ response, meaning }) => [response, meaning]))}

You see the key once, when it is issued. To rotate it, get a second one, cut over, then have the first one revoked, which
takes effect immediately.${contact === null ? "" : ` ${contactSentence(contact)}`}

## 2. Eight rules

${numbered(formRules)}

## 3. Post a submission

${code("sh", shell.submit)}

Request headers:

${
    table(["Header", "Required", "Rules"], [
      [
        "`X-API-Key`",
        "yes",
        "The customer's forms key: `form_live_…`, or `form_test_…` for a sandbox.",
      ],
      ["`Content-Type`", "yes", "`application/json`"],
      ["`Content-Encoding`", "do not send", "A compressed body gets 400 `invalid_json`."],
      [
        "`Idempotency-Key`",
        "no",
        `Your ID for the submission, up to ${limits.idempotencyKeyLengthMax} characters, such as \`${formPlaceholders.idempotencyKey}\`. Send one if you retry for longer than ${limits.formContentWindowMinutes} minutes. All forms of a customer share one namespace, separate from its leads. A different submission with a used value gets 200 and is not delivered.`,
      ],
      [
        "`X-Request-Id`",
        "no",
        `Your ID for the request, up to ${limits.requestIdLengthMax} characters. The response contains it, or a generated ID. A reverse proxy may add the header to the response a second time, with the same value; use the first.`,
      ],
    ])
  }

The service checks each request in this order: limit per IP address, method, size, key (401), tenant (403), limit per
customer, form (404), body (400), idempotency. It then commits the submission.
`;
}

const body = `\
## 4. The body

The body is a flat JSON object in UTF-8. The service checks required fields before the honeypot.

${table(["Member", "Rules"], formBodyRows)}

For example, a honeypot in HTML:

${
  code(
    "html",
    `<div style="position: absolute; left: -9999px" aria-hidden="true">
  <label>Website <input type="text" name="${honeypotName}" tabindex="-1" autocomplete="off"></label>
</div>`,
  )
}

## 5. Responses

${jsonCode(submissionExample("accepted"))}

${memberList(submissionMembers)}

${
  table(["Status", "`status`", "Meaning"], [
    ["202", "`accepted`", "The submission and its delivery record are on disk. Thank the visitor."],
    [
      "200",
      "`duplicate`",
      "A repeat, with the ID and time of the first submission. Treat it like 202.",
    ],
  ])
}

No other response confirms anything. After a 4xx, nothing is stored. After a 5xx or a timeout, retry to find out whether the
submission was accepted.

${jsonCode({ error: "missing_required", request_id: placeholders.requestId, fields: { email: "required" } })}

${memberList(formErrorMembers)}

${errorTable(formErrors)}

${
  codeList(rateHeaderNames)
} describe each limit and how many requests remain. Responses may gain members and codes: ignore those that you
do not know.

## 6. What happens to a submission

${bullets(formOutcomes)}

## 7. Limits

${table(["Limit", "Value", "Notes"], formLimitRows.map((row) => [row.limit, row.value, row.notes]))}

## 8. Retry policy

${numbered(formRetryPolicy)}
`;

function closing(formUrl: string): string {
  return `\
## 9. Code for your web server

Call this function with the visitor's input. It returns whether the submission was sent, its ID, and which fields are missing, and
logs all other errors. A missing field may not be on your page, because the operator sets the required fields: log its name.

${
    tabs("function", [
      { title: "PHP", text: code("php", formPhp(formUrl)) },
      { title: "JavaScript", text: code("js", formJavaScript(formUrl)) },
      { title: "Python", text: code("python", formPython(formUrl)) },
    ])
  }

## 10. Definition of done

${bullets(formDefinitionOfDone, "- [ ]")}
`;
}

/**
 * Renders the brief for forms at `urls.forms`. The URLs have no trailing slash.
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
