# frozen_string_literal: true

module Leads
  # The time as the client sees it. Replace it in tests by an object with the same two methods.
  module Clock
    # @return [Time] the time of day, for a Retry-After that is a date
    def self.now
      Time.now
    end

    # @return [Float] seconds since some moment in the past, for deadlines; never steps back
    def self.monotonic
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
