# frozen_string_literal: true

module Leads
  # What the results and events share: they are frozen, equal by their members, and can be matched as patterns.
  module Value
    # @return [Hash{Symbol => Object}] each member and its value
    def to_h
      instance_variables.to_h { |name| [name[1..].to_sym, instance_variable_get(name)] }
    end

    # @return [Hash{Symbol => Object}] for +case … in+
    def deconstruct_keys(_keys)
      to_h
    end

    # @return [Boolean] whether the other is of the same class and has equal members
    def ==(other)
      other.class == self.class && other.to_h == to_h
    end
    alias eql? ==

    # @return [Integer] equal for equal values
    def hash
      [self.class, to_h].hash
    end

    # @return [String] the class and its members
    def inspect
      "#<#{self.class} #{to_h.map { |member, value| "#{member}=#{value.inspect}" }.join(" ")}>"
    end
    alias to_s inspect
  end
end
