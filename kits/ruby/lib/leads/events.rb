# frozen_string_literal: true

module Leads
  # Told to the observer when a try has ended. Holds nothing of the lead, the key or the answer. Frozen.
  class TryEvent
    include Value

    # @return [String] +"POST"+ or +"GET"+
    attr_reader :http_method
    # @return [Integer, nil] the answer's status; nil when no whole answer came
    attr_reader :status
    # @return [Float] seconds, from the first packet of connecting to the last byte of the answer
    attr_reader :duration
    # @return [String] the X-Request-Id of the call
    attr_reader :request_id

    # Takes each member by its name.
    def initialize(http_method:, status:, duration:, request_id:)
      @http_method = http_method
      @status = status
      @duration = duration
      @request_id = request_id
      freeze
    end
  end

  # Told to the observer as a wait begins. Frozen.
  class WaitEvent
    include Value

    # @return [Float] seconds that will be waited
    attr_reader :duration
    # @return [Boolean] whether it is for a 429, which spends no try
    attr_reader :rate_limited
    alias rate_limited? rate_limited
    # @return [String] the X-Request-Id of the call
    attr_reader :request_id

    # Takes each member by its name.
    def initialize(duration:, rate_limited:, request_id:)
      @duration = duration
      @rate_limited = rate_limited
      @request_id = request_id
      freeze
    end
  end
end
