# frozen_string_literal: true

module Leads
  class Transport
    # Why an exchange ended without an answer. None has anything in it that was sent or received.
    Failure = Class.new(StandardError)

    # The time-out of the try is over.
    TimedOut = Class.new(Failure)

    # The caller cancelled.
    Interrupted = Class.new(Failure)

    # What came is not HTTP, or is more than is held of it.
    Garbled = Class.new(Failure)

    # What came is HTTP, but must not be repeated.
    NotToRepeat = Class.new(Failure)
  end
end
