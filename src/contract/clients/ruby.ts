/**
 * The client of the brief in Ruby. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../limits.ts";
import { clientIdempotencyKey, clientTriesMax, unindented } from "../snippets.ts";

/** A program of one file that sends a lead, with the standard library alone. */
export function rubyClient(baseUrl: string): string {
  return unindented(`
    # send_lead.rb: for Ruby 3.0 or later. Run it with a sandbox key in LEAD_API_KEY.
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
      headers = { "X-API-Key" => ENV.fetch("LEAD_API_KEY"), "Content-Type" => "application/json",
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
