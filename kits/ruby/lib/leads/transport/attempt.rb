# frozen_string_literal: true

require "io/wait"
require_relative "failures"

module Leads
  class Transport
    # The bounds of one try: a time and perhaps a cancellation. All of a try's waiting for the network happens
    # here, from the look-up of the name to the last byte of the answer, so that an answer that drips is bounded
    # as well. Timeout.timeout would bound it too, but by an exception that may strike anywhere.
    #
    # @api private
    class Attempt
      # How often a wait that cannot be waited for together with a cancellation looks whether it came.
      LOOK_SECONDS = 0.02

      def initialize(seconds, cancellation)
        @ends_at = now + seconds
        @cancellation = cancellation
      end

      # The same bounds, but only the given part of the time that is left.
      def part(divisor)
        Attempt.new(left / divisor, @cancellation)
      end

      # Seconds that are left, over 0.
      def left
        raise Interrupted if @cancellation&.cancelled?

        seconds = @ends_at - now
        raise TimedOut unless seconds.positive?

        seconds
      end
      alias check! left

      def wait_readable(io)
        return io.wait_readable(left) unless @cancellation

        IO.select([io, @cancellation], nil, nil, left)
      end

      def wait_writable(io)
        return io.wait_writable(left) unless @cancellation

        IO.select([@cancellation], [io], nil, left)
      end

      # Waits until the socket is writable, or has something to read.
      def wait_either(io)
        IO.select([io, *@cancellation], [io], nil, left)
      end

      # What the block gives, which cannot be interrupted: it runs in a thread that is left to itself when the
      # time is over.
      def apart(&block)
        thread = Thread.new(&block)
        thread.report_on_exception = false
        nil until thread.join(@cancellation ? [left, LOOK_SECONDS].min : left)
        thread.value
      ensure
        thread&.kill
      end

      private

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
