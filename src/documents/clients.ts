/** Client code in five languages, for the brief and the site. This module is browser compatible. */

import { limits } from "../contract/limits.ts";
import { clientIdempotencyKey, clientModule, clientProgram, clientTriesMax, dedent } from "./snippets.ts";

export interface Client {
  /** The language of the code block. */
  readonly fence: string;
  /** Returns the client's files, in reading order. The first line of each names the file. */
  readonly files: (baseUrl: string) => readonly string[];
}

/** The clients by language. The tests run all of them against the same responses. */
export const clients = {
  "TypeScript": { fence: "ts", files: (baseUrl) => [clientModule(baseUrl), clientProgram] },
  "Python": { fence: "python", files: (baseUrl) => [pythonClient(baseUrl)] },
  "Go": { fence: "go", files: (baseUrl) => [goClient(baseUrl)] },
  "PHP": { fence: "php", files: (baseUrl) => [phpClient(baseUrl)] },
  "Ruby": { fence: "ruby", files: (baseUrl) => [rubyClient(baseUrl)] },
} as const satisfies Record<string, Client>;

export type ClientLanguage = keyof typeof clients;

export const clientsSummary =
  "Each client is one file with nothing to install. It reads the key from the environment, sets a timeout for each try, sends the same `Idempotency-Key` on every retry, and follows the retry policy. After a 401, it tells you to alert a person; after a 422, it shows `fields` and `detail`.";

/** Returns a Python program that sends a lead, using only the standard library. */
export function pythonClient(baseUrl: string): string {
  return dedent(`
    # send_lead.py: for Python 3.9 or later. Run it with a sandbox key in LEADS_API_KEY.
    import http.client
    import json
    import os
    import random
    import sys
    import time
    import urllib.error
    import urllib.request

    INTAKE = "${baseUrl}/v1/intake"


    class NotSent(Exception):
        """The last response; the status is 0 if there was none."""

        def __init__(self, status, body, request_id):
            code = body.get("error", "no response")
            super().__init__(f"The lead was not sent: {status} {code}, request {request_id}")
            self.status = status
            self.fields = body.get("fields", {})
            self.detail = body.get("detail", "")


    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """Never sends the key to another host."""

        def redirect_request(self, *_):
            return None


    opener = urllib.request.build_opener(NoRedirect)


    def post(body, idempotency_key):
        """Returns status, headers and JSON of the response; status 0 if there was none in time."""
        request = urllib.request.Request(INTAKE, body, {
            "X-API-Key": os.environ["LEADS_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        })
        try:
            response = opener.open(request, timeout=${limits.requestTimeoutMs / 1000})
        except urllib.error.HTTPError as error:
            response = error
        except (OSError, http.client.HTTPException):
            return 0, {}, {}
        try:
            with response:
                parsed = json.load(response)
        except (OSError, ValueError, http.client.HTTPException):
            parsed = {}  # Incomplete, or not from the intake.
        return response.status, response.headers, parsed if isinstance(parsed, dict) else {}


    def send_lead(lead, idempotency_key):
        """Sends one lead and follows the retry policy. Store the event_id that it returns."""
        body = json.dumps(lead).encode()
        failures = waits = 0
        while True:
            status, headers, result = post(body, idempotency_key)
            if status in (200, 202) and result.get("event_id"):
                return result
            can_retry = status in (0, 200, 202, 429) or status >= 500
            failures += status != 429  # A 429 does not count as a failure.
            if not can_retry or failures == ${clientTriesMax}:
                raise NotSent(status, result, headers.get("X-Request-Id"))
            waits += 1
            # In seconds, at most a day; an edge proxy may send a date instead, which counts as 0.
            retry_after = headers.get("Retry-After") or ""
            seconds = min(int(retry_after), 86_400) if retry_after.isdecimal() else 0
            time.sleep(seconds + random.random() * min(${limits.backoffCapSeconds}, 0.25 * 2 ** min(waits, 9)))


    if __name__ == "__main__":
        lead = {"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen"}
        try:
            sent = send_lead(lead, "${clientIdempotencyKey}")
            print(sent["status"], sent["event_id"], sent["flags"])
        except NotSent as error:
            if error.status == 401:
                print("The key is not accepted: alert a person", file=sys.stderr)
            sys.exit(f"{error} {error.fields} {error.detail}")  # On 422, show fields and detail.
  `);
}

/** Returns a Go program that sends a lead, using only the standard library. */
export function goClient(baseUrl: string): string {
  return dedent(`
    // send_lead.go: for Go 1.21 or later. Run it with a sandbox key in LEADS_API_KEY.
    package main

    import (
    	"bytes"
    	"encoding/json"
    	"errors"
    	"fmt"
    	"math/rand"
    	"net/http"
    	"os"
    	"strconv"
    	"time"
    )

    const intake = "${baseUrl}/v1/intake"

    var client = http.Client{
    	Timeout: ${limits.requestTimeoutMs / 1000} * time.Second,
    	// Never send the key to another host.
    	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
    }

    // Response is the body of an acknowledgement or of an error.
    type Response struct {
    	EventID string            \`json:"event_id"\`
    	Status  string            \`json:"status"\`
    	Flags   []string          \`json:"flags"\`
    	Code    string            \`json:"error"\`
    	Fields  map[string]string \`json:"fields"\`
    	Detail  string            \`json:"detail"\`
    }

    // NotSent is the last response; HTTPStatus is 0 if there was none.
    type NotSent struct {
    	Response
    	HTTPStatus int
    	RequestID  string
    }

    func (e *NotSent) Error() string {
    	return fmt.Sprintf("the lead was not sent: %d %s, request %s", e.HTTPStatus, e.Code, e.RequestID)
    }

    // post returns status 0 if there was no response in time.
    func post(body []byte, idempotencyKey string) (status int, header http.Header, result Response) {
    	request, err := http.NewRequest("POST", intake, bytes.NewReader(body))
    	if err != nil {
    		return 0, nil, result
    	}
    	request.Header.Set("X-API-Key", os.Getenv("LEADS_API_KEY"))
    	request.Header.Set("Content-Type", "application/json")
    	request.Header.Set("Idempotency-Key", idempotencyKey)
    	response, err := client.Do(request)
    	if err != nil {
    		return 0, nil, result
    	}
    	defer response.Body.Close()
    	if json.NewDecoder(response.Body).Decode(&result) != nil {
    		result = Response{} // Incomplete, or not from the intake.
    	}
    	return response.StatusCode, response.Header, result
    }

    // SendLead sends one lead and follows the retry policy. Store the EventID that it returns.
    func SendLead(lead any, idempotencyKey string) (Response, error) {
    	body, err := json.Marshal(lead)
    	if err != nil {
    		return Response{}, err
    	}
    	failures := 0
    	for backoff := 500 * time.Millisecond; ; backoff = min(2*backoff, ${limits.backoffCapSeconds}*time.Second) {
    		status, header, result := post(body, idempotencyKey)
    		if (status == 200 || status == 202) && result.EventID != "" {
    			return result, nil
    		}
    		canRetry := status == 0 || status == 200 || status == 202 || status == 429 || status >= 500
    		if status != 429 { // A 429 does not count as a failure.
    			failures++
    		}
    		if !canRetry || failures == ${clientTriesMax} {
    			return result, &NotSent{result, status, header.Get("X-Request-Id")}
    		}
    		// In seconds, at most a day; an edge proxy may send a date instead, which counts as 0.
    		seconds, _ := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
    		time.Sleep(time.Duration(min(seconds, 86_400))*time.Second + time.Duration(rand.Int63n(int64(backoff))))
    	}
    }

    func main() {
    	lead := map[string]any{
    		"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen",
    	}
    	sent, err := SendLead(lead, "${clientIdempotencyKey}")
    	var notSent *NotSent
    	if errors.As(err, &notSent) && notSent.HTTPStatus == 401 {
    		fmt.Fprintln(os.Stderr, "The key is not accepted: alert a person")
    	}
    	if err != nil {
    		fmt.Fprintln(os.Stderr, err, sent.Fields, sent.Detail) // On 422, show fields and detail.
    		os.Exit(1)
    	}
    	fmt.Println(sent.Status, sent.EventID, sent.Flags)
    }
  `);
}

/** Returns a PHP program that sends a lead, using only the curl extension. */
export function phpClient(baseUrl: string): string {
  return dedent(`
    <?php
    // send_lead.php: for PHP 8.1 or later with the curl extension. Run it with a sandbox key in LEADS_API_KEY.
    declare(strict_types=1);

    const INTAKE = '${baseUrl}/v1/intake';

    /** The last response; the status is 0 if there was none. */
    final class NotSent extends RuntimeException
    {
        public function __construct(public readonly int $status, public readonly array $result, string $requestId)
        {
            $code = $result['error'] ?? 'no response';
            parent::__construct("The lead was not sent: $status $code, request $requestId");
        }
    }

    /** Returns status, headers and JSON of the response; status 0 if there was none in time. */
    function post(string $body, string $idempotencyKey): array
    {
        $headers = [];
        $curl = curl_init(INTAKE);
        curl_setopt_array($curl, [
            CURLOPT_HTTPHEADER => [
                'X-API-Key: ' . getenv('LEADS_API_KEY'),
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
        $result = json_decode((string) $text, true);
        return [$status, $headers, is_array($result) ? $result : []];
    }

    /** Sends one lead and follows the retry policy. Store the event_id that it returns. */
    function send_lead(array $lead, string $idempotencyKey): array
    {
        $body = json_encode($lead, JSON_THROW_ON_ERROR);
        $failures = 0;
        for ($waits = 1;; $waits++) {
            [$status, $headers, $result] = post($body, $idempotencyKey);
            if (($status === 202 || $status === 200) && !empty($result['event_id'])) {
                return $result;
            }
            $canRetry = in_array($status, [0, 200, 202, 429], true) || $status >= 500;
            // A 429 does not count as a failure.
            $failures += $status === 429 ? 0 : 1;
            if (!$canRetry || $failures === ${clientTriesMax}) {
                throw new NotSent($status, $result, $headers['x-request-id'] ?? '');
            }
            // In seconds, at most a day; an edge proxy may send a date instead, which counts as 0.
            $retryAfter = $headers['retry-after'] ?? '';
            $retryAfterMs = ctype_digit($retryAfter) ? 1000 * (int) min($retryAfter, 86_400) : 0;
            usleep(1000 * ($retryAfterMs + random_int(0, min(${
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
            fwrite(STDERR, "The key is not accepted: alert a person\\n");
        }
        // On 422, show fields and detail.
        $shown = json_encode($error->result['fields'] ?? []) . ' ' . ($error->result['detail'] ?? '');
        fwrite(STDERR, $error->getMessage() . " $shown\\n");
        exit(1);
    }
  `);
}

/** Returns a Ruby program that sends a lead, using only the standard library. */
export function rubyClient(baseUrl: string): string {
  return dedent(`
    # send_lead.rb: for Ruby 3.0 or later. Run it with a sandbox key in LEADS_API_KEY.
    require "json"
    require "net/http"
    require "openssl"
    require "timeout"

    INTAKE = URI("${baseUrl}/v1/intake")
    NO_RESPONSE = [SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError, Net::ProtocolError,
                   Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError].freeze

    # The last response; the status is 0 if there was none.
    class NotSent < StandardError
      attr_reader :status, :result

      def initialize(status, result, request_id)
        super("The lead was not sent: #{status} #{result.fetch("error", "no response")}, request #{request_id}")
        @status = status
        @result = result
      end
    end

    # Returns status, response and its JSON; status 0 if there was no response in time.
    def post(body, idempotency_key)
      headers = { "X-API-Key" => ENV.fetch("LEADS_API_KEY"), "Content-Type" => "application/json",
                  "Idempotency-Key" => idempotency_key }
      response = Timeout.timeout(${limits.requestTimeoutMs / 1000}) do
        Net::HTTP.start(INTAKE.host, INTAKE.port, use_ssl: INTAKE.scheme == "https") do |http|
          http.post(INTAKE.path, body, headers)
        end
      end
      result = JSON.parse(response.body.to_s)
      [response.code.to_i, response, result.is_a?(Hash) ? result : {}]
    rescue *NO_RESPONSE
      [0, {}, {}]
    rescue JSON::ParserError # Incomplete, or not from the intake.
      [response.code.to_i, response, {}]
    end

    # Sends one lead and follows the retry policy. Store the event_id that it returns.
    def send_lead(lead, idempotency_key)
      body = JSON.generate(lead)
      failures = 0
      (1..).each do |waits|
        status, response, result = post(body, idempotency_key)
        return result if [200, 202].include?(status) && result["event_id"]

        can_retry = [0, 200, 202, 429].include?(status) || status >= 500
        failures += 1 unless status == 429 # A 429 does not count as a failure.
        raise NotSent.new(status, result, response["X-Request-Id"]) if !can_retry || failures == ${clientTriesMax}

        # In seconds, at most a day; an edge proxy may send a date instead, which counts as 0.
        retry_after = [response["Retry-After"].to_s[/\\A\\d+\\z/].to_i, 86_400].min
        sleep(retry_after + rand * [${limits.backoffCapSeconds}, 0.25 * 2**waits].min)
      end
    end

    begin
      lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "kitchen" }
      sent = send_lead(lead, "${clientIdempotencyKey}")
      puts [sent["status"], sent["event_id"], sent["flags"].inspect].join(" ")
    rescue NotSent => e
      warn "The key is not accepted: alert a person" if e.status == 401
      abort [e.message, e.result["fields"], e.result["detail"]].join(" ") # On 422, show fields and detail.
    end
  `);
}
