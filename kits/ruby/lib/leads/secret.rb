# frozen_string_literal: true

module Leads
  # A text that no inspection shows. It is held by a closure, not by an instance variable: debuggers, error
  # trackers and serializers walk the variables of whatever they meet.
  #
  # @api private
  class Secret
    def initialize(text)
      @reveal = -> { text }
      freeze
    end

    def reveal
      @reveal.call
    end

    def inspect
      "#<#{self.class}>"
    end
    alias to_s inspect
  end
  private_constant :Secret
end
