# frozen_string_literal: true

module Leads
  # The service has the lead, durably. That is final: there is nothing to poll. Frozen.
  class Acknowledgement
    include Value

    # @return [String] identifies the lead in support; opaque, keep it beside your record
    attr_reader :event_id
    # @return [String] +"accepted"+, or +"duplicate"+ for an idempotency key that had been accepted before
    attr_reader :status
    # @return [String] when it was received: UTC, ISO 8601
    attr_reader :received_at
    # @return [String] the label of the key
    attr_reader :source
    # @return [Array<String>] observations such as +"phone_unnormalized"+; never a rejection
    attr_reader :flags
    # @return [String] the X-Request-Id that was sent
    attr_reader :request_id
    # @return [Integer] tries spent, this one included
    attr_reader :tries

    # Takes each member by its name.
    def initialize(event_id:, status:, received_at:, source:, flags:, request_id:, tries:)
      @event_id = event_id.freeze
      @status = status.freeze
      @received_at = received_at.freeze
      @source = source.freeze
      @flags = flags.each(&:freeze).freeze
      @request_id = request_id.freeze
      @tries = tries
      freeze
    end

    # @return [Boolean] whether this post made the lead
    def accepted?
      status == "accepted"
    end

    # @return [Boolean] whether an earlier post with this idempotency key had made it
    def duplicate?
      status == "duplicate"
    end
  end

  # What became of a key check. Frozen.
  class KeyCheck
    include Value

    # @return [Symbol] +:valid+ or +:invalid+
    attr_reader :verdict
    # @return [String] the X-Request-Id that was sent
    attr_reader :request_id
    # @return [Integer] tries spent, this one included
    attr_reader :tries

    # Takes each member by its name.
    def initialize(verdict:, request_id:, tries:)
      @verdict = verdict
      @request_id = request_id.freeze
      @tries = tries
      freeze
    end

    # @return [Boolean] whether the service knows the key
    def valid?
      verdict == :valid
    end
  end

  # A part of the home that a lead's +project_area+ may name. Frozen.
  class Area
    include Value

    # @return [String] the term
    attr_reader :area
    # @return [String] +"confirmed"+ or +"proposed"+; both are accepted alike
    attr_reader :status

    # @param area [String] see {#area}
    # @param status [String] see {#status}
    def initialize(area:, status:)
      @area = area.freeze
      @status = status.freeze
      freeze
    end
  end

  # The service's words for projects. An unknown word is never refused, only flagged. Frozen.
  class Vocabulary
    include Value

    # @return [Array<Area>] for +project_area+
    attr_reader :areas
    # @return [Array<String>] for +project_service+
    attr_reader :services
    # @return [Array<String>] the fields that each lead must have
    attr_reader :required

    # @param areas [Array<Area>] see {#areas}
    # @param services [Array<String>] see {#services}
    # @param required [Array<String>] see {#required}
    def initialize(areas:, services:, required:)
      @areas = areas.freeze
      @services = services.each(&:freeze).freeze
      @required = required.each(&:freeze).freeze
      freeze
    end
  end
end
