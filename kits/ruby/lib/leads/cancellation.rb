# frozen_string_literal: true

require "io/wait"

module Leads
  # Ends calls that are under way, from another thread or from a signal handler. One may be given to any number
  # of calls, at once or one after the other; once cancelled it stays so.
  #
  #   stopping = Leads::Cancellation.new
  #   trap("TERM") { stopping.cancel! }
  #   leads.post_lead(lead, idempotency_key: key, cancellation: stopping)
  #
  # Ctrl-C, Thread#raise and Thread#kill end a call at once without one.
  class Cancellation
    # Opens a pipe: it is what can be waited for together with a socket, and what a signal handler may write to,
    # where a Mutex is forbidden. It is closed with the object.
    def initialize
      @reader, @writer = IO.pipe
      @cancelled = false
    end

    # Ends the calls that hold this, and those that will. May be called again, and from a signal handler.
    #
    # @return [nil]
    def cancel!
      @cancelled = true
      # Never read, so that it stays readable for all who wait, now and later. A full pipe is readable too.
      @writer.write_nonblock(".", exception: false)
      nil
    end

    # @return [Boolean] whether {#cancel!} was called
    def cancelled?
      @cancelled
    end

    # Sleeps until cancelled or until the time is over.
    #
    # @param seconds [Numeric] how long at most
    # @return [Boolean] whether it was cancelled
    def wait(seconds)
      @cancelled || !@reader.wait_readable(seconds).nil?
    end

    # For IO.select, together with a socket: readable once cancelled.
    #
    # @api private
    # @return [IO]
    def to_io
      @reader
    end
  end
end
