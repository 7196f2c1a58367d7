# frozen_string_literal: true

require "json"
require "bigdecimal"

module Leads
  # JSON as this service needs it. Numbers keep their digits, which JSON.generate does not see to: it writes a
  # BigDecimal as a string. What came from strangers is read with bounds, and never quoted.
  #
  # @api private
  module JSONText
    NESTING_MAX = 256

    # A BigDecimal with an exponent beyond this is written with it: all of its zeros could fill the memory.
    PLAIN_EXPONENT_MAX = 400

    module_function

    # @raise [Misconfigured] where something cannot be JSON; its message says what class it was of
    def generate(value, depth = NESTING_MAX)
      case value
      when String, Symbol then string(value)
      when Hash then object(value, depth)
      when Array then "[#{value.map { |item| generate(item, inner(depth)) }.join(",")}]"
      when Integer, true, false then value.to_s
      when nil then "null"
      else number(value)
      end
    end

    # The object in the text, or nil where it is anything else.
    def parse_object(text)
      text = text.dup.force_encoding(Encoding::UTF_8)
      return nil unless text.valid_encoding?

      # Some versions of json write a warning, with the key in it, where a key comes twice.
      value = JSON.parse(text, create_additions: false, allow_duplicate_key: true)
      value if value.instance_of?(Hash)
    rescue JSON::ParserError # nesting too deep included
      nil
    end

    def object(hash, depth)
      depth = inner(depth)
      "{#{hash.map { |key, value| "#{string(key)}:#{generate(value, depth)}" }.join(",")}}"
    end

    def string(text)
      text = text.to_s
      text = text.encoding == Encoding::BINARY ? text.dup.force_encoding(Encoding::UTF_8) : text.encode(Encoding::UTF_8)
      raise Misconfigured, "A text of the lead is not valid in its encoding" unless text.valid_encoding?

      JSON.generate(text)
    rescue EncodingError
      # Ruby's error quotes the text.
      raise Misconfigured.new("A text of the lead is not valid in its encoding"), cause: nil
    end

    def number(value)
      unless value.is_a?(BigDecimal) || value.is_a?(Float)
        raise Misconfigured, "The lead holds a #{value.class}, which JSON cannot hold: convert it first"
      end
      raise Misconfigured, "The lead holds a number that is not finite" unless value.finite?
      return JSON.generate(value) if value.is_a?(Float)

      value.exponent.abs > PLAIN_EXPONENT_MAX ? value.to_s : value.to_s("F")
    end

    def inner(depth)
      raise Misconfigured, "The lead is nested too deeply" if depth.zero?

      depth - 1
    end
  end
  private_constant :JSONText
end
