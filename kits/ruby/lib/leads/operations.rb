# frozen_string_literal: true

require_relative "json_text"
require_relative "results"

module Leads
  # The three requests: what each sends, and which answers are its results. What an answer means otherwise is the
  # same for all, and decided by the Call.
  #
  # A result is a lambda that takes +request_id:+ and +tries:+.
  #
  # @api private
  module Operations
    module_function

    def strings?(value)
      value.is_a?(Array) && value.all?(String)
    end

    # POST /v1/intake with a lead.
    class PostLead
      attr_reader :body

      def initialize(api_key, idempotency_key, lead)
        @api_key = api_key
        @idempotency_key = idempotency_key
        @body = JSONText.generate(lead).b.freeze
      end

      def http_method
        "POST"
      end

      def path
        "/v1/intake"
      end

      def headers
        { "Content-Type" => "application/json", "X-API-Key" => @api_key.reveal, "Idempotency-Key" => @idempotency_key }
      end

      # Whether a try whose answer did not come may have changed something.
      def changes?
        true
      end

      # The fields of an answer that finds fault with the lead.
      def faults(object)
        fields = object["fields"]
        fields if fields.is_a?(Hash) && fields.values.all?(String)
      end

      def result(reply, object)
        return unless [200, 202].include?(reply.status) && acknowledgement?(object)

        lambda do |request_id:, tries:|
          Acknowledgement.new(event_id: object["event_id"], status: object["status"],
                              received_at: object["received_at"], source: object["source"],
                              flags: object["flags"], request_id: request_id, tries: tries)
        end
      end

      def inspect
        "#<#{self.class}>"
      end
      alias to_s inspect

      private

      def acknowledgement?(object)
        object["event_id"].is_a?(String) && !object["event_id"].empty? &&
          %w[accepted duplicate].include?(object["status"]) &&
          object["received_at"].is_a?(String) && object["source"].is_a?(String) &&
          Operations.strings?(object["flags"])
      end
    end

    # POST /v1/intake with nothing in it: the service authenticates before it validates.
    class CheckKey
      def initialize(api_key)
        @api_key = api_key
      end

      def body
        "{}"
      end

      def http_method
        "POST"
      end

      def path
        "/v1/intake"
      end

      def headers
        { "Content-Type" => "application/json", "X-API-Key" => @api_key.reveal }
      end

      def changes?
        false
      end

      def faults(_object)
        nil
      end

      def result(reply, object)
        verdict = :invalid if reply.status == 401
        verdict = :valid if reply.status == 422 && object["error"] == "validation_failed"
        verdict && ->(request_id:, tries:) { KeyCheck.new(verdict: verdict, request_id: request_id, tries: tries) }
      end
    end

    # GET /v1/vocabulary.
    class ReadVocabulary
      # @param etag [String, nil] of the vocabulary that is at hand
      # @param kept [Vocabulary, nil] the vocabulary that is at hand
      # @param keep [#call] is given each vocabulary with the reply that it came in
      def initialize(etag: nil, kept: nil, &keep)
        @etag = etag
        @kept = kept
        @keep = keep
      end

      def body
        nil
      end

      def http_method
        "GET"
      end

      def path
        "/v1/vocabulary"
      end

      def headers
        @etag ? { "If-None-Match" => @etag } : {}
      end

      def changes?
        false
      end

      def faults(_object)
        nil
      end

      def result(reply, object)
        vocabulary = @kept if reply.status == 304 && @etag
        vocabulary = read(object) if reply.status == 200
        return unless vocabulary

        lambda do |**|
          @keep.call(vocabulary, reply)
          vocabulary
        end
      end

      private

      def read(object)
        areas, services, required = object.values_at("project_area", "project_service", "required")
        return unless areas?(areas) && Operations.strings?(services) && Operations.strings?(required)

        Vocabulary.new(areas: areas.map { |area| Area.new(area: area["area"], status: area["status"]) },
                       services: services, required: required)
      end

      def areas?(value)
        value.is_a?(Array) && value.all? do |area|
          area.is_a?(Hash) && area["area"].is_a?(String) && area["status"].is_a?(String)
        end
      end
    end
  end
  private_constant :Operations
end
