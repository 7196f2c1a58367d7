/**
 * Code for whoever builds a customer's website, as the brief of the forms shows it. Tests run every line of it. This
 * module is browser compatible.
 *
 * @module
 */

import { formExample } from "./forms.ts";
import { limits } from "./limits.ts";
import { shellQuoted, unindented } from "./snippets.ts";

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
