# frozen_string_literal: true

require "json"
require "bigdecimal"

module Leads
  # JSON as this service needs it. Numbers keep their digits, which JSON.generate does not see to: it writes a
  # BigDecimal as a string. What came from strangers is read with bounds, and never quoted.
  #
  # @api private
  module JSONText
    # Of a lead: the bound of JSON.generate where it is not told another.
    NESTING_MAX = 100

    # Of an answer, whose unknown members may be anything. The parser spends stack on each level, and a fiber, which
    # has the smallest, overflows at about 3,600.
    PARSED_NESTING_MAX = 1_000

    # Some versions of json write a warning, with the key in it, where a key comes twice.
    PARSING = { allow_duplicate_key: true, max_nesting: PARSED_NESTING_MAX }.freeze

    # A BigDecimal with an exponent beyond this is written with it: all of its zeros could fill the memory.
    PLAIN_EXPONENT_MAX = 400

    # Writes itself as it is.
    Digits = Struct.new(:text) do
      def to_json(*)
        text
      end
    end

    module_function

    # @raise [Misconfigured] where something cannot be JSON; its message says what class it was of
    def generate(hash)
      JSON.generate(prepared(hash, NESTING_MAX))
    rescue JSON::JSONError, EncodingError
      # Their messages may quote the text.
      raise Misconfigured.new("A text of the lead is not valid in its encoding"), cause: nil
    end

    # The object in the text, which is in UTF-8, or nil where it is anything else.
    def parse_object(text)
      return nil unless text.valid_encoding?

      value = JSON.parse(text, PARSING)
      value if value.instance_of?(Hash)
    rescue JSON::ParserError, SystemStackError # nested too deeply, or for what the caller has left of the stack
      nil
    end

    # The value with only such parts as JSON.generate writes as they should be.
    def prepared(value, depth)
      case value
      when String then text(value)
      when Hash then prepared_hash(value, inner(depth))
      when Array
        depth = inner(depth)
        value.map { |item| prepared(item, depth) }
      when Symbol then text(value.name)
      when Integer, true, false, nil then value
      else number(value)
      end
    end

    # Most leads are flat and of texts: those are not copied.
    def prepared_hash(hash, depth)
      return hash.to_h { |key, item| [text(key.to_s), prepared(item, depth)] } unless hash.keys.all?(Symbol)

      changed = nil
      hash.each_pair do |key, item|
        next if item.is_a?(String) && item.encoding == Encoding::UTF_8

        (changed ||= hash.dup)[key] = prepared(item, depth)
      end
      changed || hash
    end

    def text(text)
      return text if text.encoding == Encoding::UTF_8 || text.ascii_only?

      text.encoding == Encoding::BINARY ? text.dup.force_encoding(Encoding::UTF_8) : text.encode(Encoding::UTF_8)
    end

    def number(value)
      unless value.is_a?(BigDecimal) || value.is_a?(Float)
        raise Misconfigured, "The lead holds a #{value.class}, which JSON cannot hold: convert it first"
      end
      raise Misconfigured, "The lead holds a number that is not finite" unless value.finite?
      return value if value.is_a?(Float)

      Digits.new(value.exponent.abs > PLAIN_EXPONENT_MAX ? value.to_s : value.to_s("F"))
    end

    def inner(depth)
      raise Misconfigured, "The lead is nested too deeply" if depth.zero?

      depth - 1
    end
  end
  private_constant :JSONText
end
