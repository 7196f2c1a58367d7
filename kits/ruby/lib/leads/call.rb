# frozen_string_literal: true

require_relative "delays"
require_relative "events"
require_relative "json_text"

module Leads
  # One call of the client: its tries, its waits, and what it ends as.
  #
  # @api private
  class Call
    CODE = /\A[a-z_]{1,64}\z/
    # What stands in a message of the fields that were found at fault. A stranger's answer may name others.
    REASONS = { "required" => "is required", "too_long" => "is too long", "out_of_range" => "is out of range" }.freeze
    EMPTY = {}.freeze

    # @param settings [Settings] of the client
    def initialize(settings, operation, request_id:, deadline:, cancellation:)
      @settings = settings
      @operation = operation
      @request_id = request_id
      @cancellation = cancellation
      @ends_at = settings.clock.monotonic + deadline
      @tries = @rate_limits = 0
      @begun = @unknown_outcome = false
      @reply = nil
      @object = EMPTY
    end

    # @return the operation's result
    # @raise [Error]
    def run
      loop do
        result = attempt
        return result.call(request_id: @request_id, tries: @tries) if result

        pause(*delay)
      end
    end

    private

    # One try. Its result, or nil when there should be another.
    def attempt
      raise failure(Cancelled, "The call was cancelled") if @cancellation&.cancelled?

      left = self.left
      raise unavailable("the deadline is over") unless left.positive?

      @reply = exchange(left < @settings.try_timeout ? left : @settings.try_timeout)
      @object = (@reply.body && JSONText.parse_object(@reply.body)) || EMPTY
      judge
    end

    def exchange(seconds)
      @begun = true
      started = Clock.monotonic
      reply = @settings.transport.exchange(@operation.http_method, @operation.path, headers, @operation.body,
                                           seconds: seconds, cancellation: @cancellation)
      observe_try(reply, Clock.monotonic - started) if @settings.observer
      reply
    end

    def observe_try(reply, duration)
      observe TryEvent.new(http_method: @operation.http_method, status: reply.flaw ? nil : reply.status,
                           duration: duration, request_id: @request_id)
    end

    def headers
      # An answer that is not compressed is bounded as it is read.
      headers = @operation.headers
      headers["Accept"] = "application/json"
      headers["Accept-Encoding"] = "identity"
      headers["User-Agent"] = USER_AGENT
      headers["X-Request-Id"] = @request_id
      headers
    end

    def judge
      @unknown_outcome ||= @operation.changes? && @reply.lost?
      rate_limited = @reply.flaw.nil? && @reply.status == 429
      @tries += 1 unless rate_limited
      @rate_limits = rate_limited ? @rate_limits + 1 : 0
      return judge_flaw if @reply.flaw

      @operation.result(@reply, @object) || judge_status
    end

    def judge_flaw
      case @reply.flaw
      when :not_to_repeat then raise failure(Refused, "The answer cannot be used, and must not be asked for again")
      when :interrupted then raise failure(Cancelled, "The call was cancelled")
      end
    end

    def judge_status
      case @reply.status
      when 200..299 then @unknown_outcome ||= @operation.changes?
      when 429, 500..599 then nil
      when 401 then raise failure(Unauthorized, "The service does not know the key")
      when 422 then raise invalid_lead || refused
      else raise refused
      end
      nil
    end

    # The next wait in seconds, and whether it is for a 429.
    def delay
      asked = Delays.retry_after(@reply.header("Retry-After"), @settings.clock.now)
      return [Delays.after_rate_limit(@rate_limits, asked, draw), true] if @rate_limits.positive?
      raise unavailable("#{@tries} tries are spent") if @tries >= @settings.tries

      floor = asked if @reply.status.to_i >= 500
      [Delays.after_spent_try(@tries, floor, draw), false]
    end

    def pause(seconds, rate_limited)
      raise unavailable("the next try would be past the deadline") if seconds >= left

      observe WaitEvent.new(duration: seconds.to_f, rate_limited: rate_limited, request_id: @request_id)
      @settings.sleep.call(seconds, @cancellation)
    end

    def left
      @ends_at - @settings.clock.monotonic
    end

    def draw
      @settings.random.call
    end

    # A lead that was accepted must not turn into an error because something went wrong in a log.
    def observe(event)
      @settings.observer&.call(event)
    rescue StandardError => e
      warn "leads: the observer raised #{e.class}"
    end

    def code
      @object["error"] if @object["error"].is_a?(String) && @object["error"].match?(CODE)
    end

    # What an answer of the service says is wrong.
    def detail
      @object["detail"] if code && @object["detail"].is_a?(String)
    end

    def failure(kind, message, **more)
      kind.new(message, status: @reply&.status, code: code, detail: detail,
                        request_id: (@request_id if @begun), tries: @tries, unknown_outcome: @unknown_outcome, **more)
    end

    def refused
      failure(Refused, "The service refused the request: status #{@reply.status}#{", #{code}" if code}")
    end

    def unavailable(why)
      last = @reply && (@reply.reason || "status #{@reply.status}")
      failure(Unavailable, "The service is unavailable, #{why}#{" (last: #{last})" if last}")
    end

    def invalid_lead
      fields = @operation.faults(@object) or return
      known = fields.select { |name, reason| Lead::FIELDS.include?(name.to_sym) && REASONS.key?(reason) }
      message = ["The lead is not valid", known.map { |name, reason| "#{name} #{REASONS[reason]}" }.join(", ")]
      failure(InvalidLead, message.reject(&:empty?).join(": "), fields: fields)
    end
  end
  private_constant :Call
end
