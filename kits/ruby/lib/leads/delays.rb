# frozen_string_literal: true

require "time"

module Leads
  # How long to wait before a retry, in seconds.
  #
  # @api private
  module Delays
    BACKOFF_SECONDS = 1
    BACKOFF_SECONDS_MAX = 30
    # A number with more digits than this is past any deadline.
    DIGITS_MAX = 12

    module_function

    # Before the n-th retry after a spent try.
    #
    # @param floor [Float, nil] what Retry-After asked for
    # @param draw [Float] from 0 to 1
    def after_spent_try(nth, floor, draw)
      backoff = doubled(BACKOFF_SECONDS, nth) * (1 + draw) / 2.0
      [backoff, floor || 0].max
    end

    # After the k-th 429 in a row.
    #
    # @param asked [Float, nil] what Retry-After asked for
    # @param draw [Float] from 0 to 1
    def after_rate_limit(kth, asked, draw)
      asked = [asked || 1, 1].max
      [asked, doubled(asked, kth)].max * (1 + (draw / 4.0))
    end

    # Seconds from a Retry-After: whole seconds, or a date by the given time of day. Nil when it is neither.
    def retry_after(text, now)
      return if text.nil?
      return text.length > DIGITS_MAX ? digits(text) : text.to_i if text.match?(/\A\d+\z/)

      [Time.httpdate(text) - now, 0].max
    rescue ArgumentError
      nil
    end

    def digits(text)
      text = text.sub(/\A0+/, "")
      text.length > DIGITS_MAX ? Float::INFINITY : text.to_i
    end

    def doubled(base, nth)
      # Past the cap after a few: the exponent must not grow with the number of 429s.
      [BACKOFF_SECONDS_MAX, base * (2**[nth - 1, 16].min)].min
    end
  end
  private_constant :Delays
end
