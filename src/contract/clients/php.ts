/**
 * The client of the brief in PHP. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../limits.ts";
import { clientIdempotencyKey, clientTriesMax, unindented } from "../snippets.ts";

/** A program of one file that sends a lead, with PHP's own curl. */
export function phpClient(baseUrl: string): string {
  return unindented(`
    <?php
    // send_lead.php: for PHP 8.1 or later, with its curl. Run it with a sandbox key in LEAD_API_KEY.
    declare(strict_types=1);

    const INTAKE = '${baseUrl}/v1/intake';

    /** What was answered at last; status 0 when nothing was. */
    final class NotSent extends RuntimeException
    {
        public function __construct(public readonly int $status, public readonly array $answer, string $requestId)
        {
            $code = $answer['error'] ?? 'no answer';
            parent::__construct("The lead was not sent: $status $code, request $requestId");
        }
    }

    /** Status, headers and JSON of the answer; status 0 for no connection, or no whole answer in time. */
    function post(string $body, string $idempotencyKey): array
    {
        $headers = [];
        $curl = curl_init(INTAKE);
        curl_setopt_array($curl, [
            CURLOPT_HTTPHEADER => [
                'X-API-Key: ' . getenv('LEAD_API_KEY'),
                'Content-Type: application/json',
                "Idempotency-Key: $idempotencyKey",
            ],
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_TIMEOUT => ${limits.requestTimeoutMs / 1000},
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$headers): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $headers[strtolower($name)] ??= trim($value);
                return strlen($line);
            },
        ]);
        $text = curl_exec($curl);
        $status = $text === false ? 0 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        $answer = json_decode((string) $text, true);
        return [$status, $headers, is_array($answer) ? $answer : []];
    }

    /** Sends one lead and retries as the policy says. Keep the event_id that comes back. */
    function send_lead(array $lead, string $idempotencyKey): array
    {
        $body = json_encode($lead, JSON_THROW_ON_ERROR);
        $failures = 0;
        for ($waits = 1;; $waits++) {
            [$status, $headers, $answer] = post($body, $idempotencyKey);
            if (($status === 202 || $status === 200) && !empty($answer['event_id'])) {
                return $answer;
            }
            $mayRetry = in_array($status, [0, 200, 202, 429], true) || $status >= 500;
            // A 429 does not count: it says when to come back.
            $failures += $status === 429 ? 0 : 1;
            if (!$mayRetry || $failures === ${clientTriesMax}) {
                throw new NotSent($status, $answer, $headers['x-request-id'] ?? '');
            }
            // In seconds; an edge may send a date, which is no number.
            $retryAfter = $headers['retry-after'] ?? '';
            $floorMs = ctype_digit($retryAfter) ? 1000 * (int) $retryAfter : 0;
            usleep(1000 * ($floorMs + random_int(0, min(${
    limits.backoffCapSeconds * 1000
  }, 250 * 2 ** min($waits, 9)))));
        }
    }

    try {
        $lead = [
            'first_name' => 'Ada', 'last_name' => 'Lovelace', 'phone' => '(555) 123-4567', 'project_area' => 'kitchen',
        ];
        $sent = send_lead($lead, '${clientIdempotencyKey}');
        echo $sent['status'], ' ', $sent['event_id'], ' ', json_encode($sent['flags']), "\\n";
    } catch (NotSent $error) {
        if ($error->status === 401) {
            fwrite(STDERR, "The key is not accepted: tell a person\\n");
        }
        // 422: show them fields and detail.
        $shown = json_encode($error->answer['fields'] ?? []) . ' ' . ($error->answer['detail'] ?? '');
        fwrite(STDERR, $error->getMessage() . " $shown\\n");
        exit(1);
    }
  `);
}
