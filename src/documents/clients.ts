/**
 * The clients that the brief and the site show: a program of one file in each language. This module is browser
 * compatible.
 */

import { limits } from "../contract/limits.ts";
import { clientIdempotencyKey, clientModule, clientProgram, clientTriesMax, unindented } from "./snippets.ts";

/** A client in one language. */
export interface Client {
  /** As blocks of code name it. */
  readonly fence: string;
  /** Its files, in the order to read them; the first line of each has its name. */
  readonly files: (baseUrl: string) => readonly string[];
}

/** By language. They try, wait and end alike: the tests run each against the same answers. */
export const clients = {
  "TypeScript": { fence: "ts", files: (baseUrl) => [clientModule(baseUrl), clientProgram] },
  "Python": { fence: "python", files: (baseUrl) => [pythonClient(baseUrl)] },
  "Go": { fence: "go", files: (baseUrl) => [goClient(baseUrl)] },
  "PHP": { fence: "php", files: (baseUrl) => [phpClient(baseUrl)] },
  "Ruby": { fence: "ruby", files: (baseUrl) => [rubyClient(baseUrl)] },
} as const satisfies Record<string, Client>;

/** A language that there is a client in. */
export type ClientLanguage = keyof typeof clients;

/** What they have in common, in a sentence or two. */
export const clientsSummary =
  "Each is one file with nothing to install. It reads its key from the environment, limits each try with a time-out, sends the same `Idempotency-Key` on every retry, and follows the retry policy; it reports a 401 to a person, and a 422 with its `fields` and `detail`.";

/** A program of one file that sends a lead, with the standard library alone. */
export function pythonClient(baseUrl: string): string {
  return unindented(`
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
        """What was answered at last; status 0 when nothing was."""

        def __init__(self, status, answer, request_id):
            code = answer.get("error", "no answer")
            super().__init__(f"The lead was not sent: {status} {code}, request {request_id}")
            self.status = status
            self.fields = answer.get("fields", {})
            self.detail = answer.get("detail", "")


    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """The key goes to the intake and nowhere else."""

        def redirect_request(self, *_):
            return None


    opener = urllib.request.build_opener(NoRedirect)


    def post(body, idempotency_key):
        """Status, headers and JSON of the answer; status 0 for no connection, or no answer in time."""
        request = urllib.request.Request(INTAKE, body, {
            "X-API-Key": os.environ["LEADS_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        })
        try:
            answer = opener.open(request, timeout=${limits.requestTimeoutMs / 1000})
        except urllib.error.HTTPError as refusal:
            answer = refusal
        except (OSError, http.client.HTTPException):
            return 0, {}, {}
        try:
            with answer:
                parsed = json.load(answer)
        except (OSError, ValueError, http.client.HTTPException):
            parsed = {}  # Half an answer, or somebody else's.
        return answer.status, answer.headers, parsed if isinstance(parsed, dict) else {}


    def send_lead(lead, idempotency_key):
        """Sends one lead and retries as the policy says. Keep the event_id that comes back."""
        body = json.dumps(lead).encode()
        failures = waits = 0
        while True:
            status, headers, answer = post(body, idempotency_key)
            if status in (200, 202) and answer.get("event_id"):
                return answer
            may_retry = status in (0, 200, 202, 429) or status >= 500
            failures += status != 429  # A 429 does not count: it says when to come back.
            if not may_retry or failures == ${clientTriesMax}:
                raise NotSent(status, answer, headers.get("X-Request-Id"))
            waits += 1
            # In seconds; an edge may send a date, which is no number.
            retry_after = headers.get("Retry-After") or ""
            floor = int(retry_after) if retry_after.isdecimal() else 0
            time.sleep(floor + random.random() * min(${limits.backoffCapSeconds}, 0.25 * 2 ** min(waits, 9)))


    if __name__ == "__main__":
        lead = {"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen"}
        try:
            sent = send_lead(lead, "${clientIdempotencyKey}")
            print(sent["status"], sent["event_id"], sent["flags"])
        except NotSent as error:
            if error.status == 401:
                print("The key is not accepted: tell a person", file=sys.stderr)
            sys.exit(f"{error} {error.fields} {error.detail}")  # 422: show them fields and detail.
  `);
}

/** A program of one file that sends a lead, with the standard library alone. */
export function goClient(baseUrl: string): string {
  return unindented(`
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
    	// The key goes to the intake and nowhere else.
    	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
    }

    // Answer has what an acknowledgement has, or what an error has.
    type Answer struct {
    	EventID string            \`json:"event_id"\`
    	Status  string            \`json:"status"\`
    	Flags   []string          \`json:"flags"\`
    	Code    string            \`json:"error"\`
    	Fields  map[string]string \`json:"fields"\`
    	Detail  string            \`json:"detail"\`
    }

    // NotSent is what was answered at last; HTTPStatus is 0 when nothing was.
    type NotSent struct {
    	Answer
    	HTTPStatus int
    	RequestID  string
    }

    func (e *NotSent) Error() string {
    	return fmt.Sprintf("the lead was not sent: %d %s, request %s", e.HTTPStatus, e.Code, e.RequestID)
    }

    // post returns status 0 for no connection, or no answer in time.
    func post(body []byte, idempotencyKey string) (status int, header http.Header, answer Answer) {
    	request, err := http.NewRequest("POST", intake, bytes.NewReader(body))
    	if err != nil {
    		return 0, nil, answer
    	}
    	request.Header.Set("X-API-Key", os.Getenv("LEADS_API_KEY"))
    	request.Header.Set("Content-Type", "application/json")
    	request.Header.Set("Idempotency-Key", idempotencyKey)
    	response, err := client.Do(request)
    	if err != nil {
    		return 0, nil, answer
    	}
    	defer response.Body.Close()
    	if json.NewDecoder(response.Body).Decode(&answer) != nil {
    		answer = Answer{} // Half an answer, or somebody else's.
    	}
    	return response.StatusCode, response.Header, answer
    }

    // SendLead sends one lead and retries as the policy says. Keep the EventID that comes back.
    func SendLead(lead any, idempotencyKey string) (Answer, error) {
    	body, err := json.Marshal(lead)
    	if err != nil {
    		return Answer{}, err
    	}
    	failures := 0
    	for backoff := 500 * time.Millisecond; ; backoff = min(2*backoff, ${limits.backoffCapSeconds}*time.Second) {
    		status, header, answer := post(body, idempotencyKey)
    		if (status == 200 || status == 202) && answer.EventID != "" {
    			return answer, nil
    		}
    		mayRetry := status == 0 || status == 200 || status == 202 || status == 429 || status >= 500
    		if status != 429 { // A 429 does not count: it says when to come back.
    			failures++
    		}
    		if !mayRetry || failures == ${clientTriesMax} {
    			return answer, &NotSent{answer, status, header.Get("X-Request-Id")}
    		}
    		// In seconds; an edge may send a date, which is no number.
    		seconds, _ := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
    		time.Sleep(time.Duration(seconds)*time.Second + time.Duration(rand.Int63n(int64(backoff))))
    	}
    }

    func main() {
    	lead := map[string]any{
    		"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen",
    	}
    	sent, err := SendLead(lead, "${clientIdempotencyKey}")
    	var refused *NotSent
    	if errors.As(err, &refused) && refused.HTTPStatus == 401 {
    		fmt.Fprintln(os.Stderr, "The key is not accepted: tell a person")
    	}
    	if err != nil {
    		fmt.Fprintln(os.Stderr, err, sent.Fields, sent.Detail) // 422: show them fields and detail.
    		os.Exit(1)
    	}
    	fmt.Println(sent.Status, sent.EventID, sent.Flags)
    }
  `);
}

/** A program of one file that sends a lead, with PHP's own curl. */
export function phpClient(baseUrl: string): string {
  return unindented(`
    <?php
    // send_lead.php: for PHP 8.1 or later, with its curl. Run it with a sandbox key in LEADS_API_KEY.
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

/** A program of one file that sends a lead, with the standard library alone. */
export function rubyClient(baseUrl: string): string {
  return unindented(`
    # send_lead.rb: for Ruby 3.0 or later. Run it with a sandbox key in LEADS_API_KEY.
    require "json"
    require "net/http"
    require "openssl"
    require "timeout"

    INTAKE = URI("${baseUrl}/v1/intake")
    NO_ANSWER = [SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError, Net::ProtocolError,
                 Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError].freeze

    # What was answered at last; status 0 when nothing was.
    class NotSent < StandardError
      attr_reader :status, :answer

      def initialize(status, answer, request_id)
        super("The lead was not sent: #{status} #{answer.fetch("error", "no answer")}, request #{request_id}")
        @status = status
        @answer = answer
      end
    end

    # Status, response and JSON of the answer; status 0 for no connection, or no answer in time.
    def post(body, idempotency_key)
      headers = { "X-API-Key" => ENV.fetch("LEADS_API_KEY"), "Content-Type" => "application/json",
                  "Idempotency-Key" => idempotency_key }
      response = Timeout.timeout(${limits.requestTimeoutMs / 1000}) do
        Net::HTTP.start(INTAKE.host, INTAKE.port, use_ssl: INTAKE.scheme == "https") do |http|
          http.post(INTAKE.path, body, headers)
        end
      end
      answer = JSON.parse(response.body.to_s)
      [response.code.to_i, response, answer.is_a?(Hash) ? answer : {}]
    rescue *NO_ANSWER
      [0, {}, {}]
    rescue JSON::ParserError # Half an answer, or somebody else's.
      [response.code.to_i, response, {}]
    end

    # Sends one lead and retries as the policy says. Keep the event_id that comes back.
    def send_lead(lead, idempotency_key)
      body = JSON.generate(lead)
      failures = 0
      (1..).each do |waits|
        status, response, answer = post(body, idempotency_key)
        return answer if [200, 202].include?(status) && answer["event_id"]

        may_retry = [0, 200, 202, 429].include?(status) || status >= 500
        failures += 1 unless status == 429 # It says when to come back, and does not count.
        raise NotSent.new(status, answer, response["X-Request-Id"]) if !may_retry || failures == ${clientTriesMax}

        # In seconds; an edge may send a date, which is no number.
        floor = response["Retry-After"].to_s[/\\A\\d+\\z/].to_i
        sleep(floor + rand * [${limits.backoffCapSeconds}, 0.25 * 2**waits].min)
      end
    end

    begin
      lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "kitchen" }
      sent = send_lead(lead, "${clientIdempotencyKey}")
      puts [sent["status"], sent["event_id"], sent["flags"].inspect].join(" ")
    rescue NotSent => e
      warn "The key is not accepted: tell a person" if e.status == 401
      abort [e.message, e.answer["fields"], e.answer["detail"]].join(" ") # 422: show them fields and detail.
    end
  `);
}
