# frozen_string_literal: true

require "uri"
require "ipaddr"
require "zlib"

module Leads
  # Refuses what is wrong before anything is sent. No message here shows a value: any of them may be a secret
  # that was put in the wrong place.
  #
  # @api private
  module Arguments
    IDEMPOTENCY_KEY_CHARACTERS_MAX = 200
    REQUEST_ID_CHARACTERS_MAX = 64

    # HTTP cuts blanks off at both ends: "a:1 " would be the lead "a:1".
    PRINTABLE = /\A[!-~](?:[ -~]*[!-~])?\z/
    BASE62 = [*"0".."9", *"A".."Z", *"a".."z"].freeze
    KEY_SHAPE = /\Alead_(?:live|test)_[0-9A-Za-z]{38}\z/
    CHECKSUM_PLACES = 6
    AUTHORITY = %r{\A(?:[^/?#]*//)?[^/?#]*}

    module_function

    def blank?(text)
      !text.match?(/[^ \t\r\n]/)
    rescue ArgumentError # not valid in its encoding, and so not blank; it is not printable ASCII either
      false
    end

    def idempotency_key(text)
      text = string(text, "The idempotency key")
      raise Misconfigured, "The idempotency key is blank" if blank?(text)

      printable(text, "The idempotency key", IDEMPOTENCY_KEY_CHARACTERS_MAX)
    end

    def request_id(text)
      text = string(text, "The request id")
      raise Misconfigured, "The request id is empty" if text.empty?

      printable(text, "The request id", REQUEST_ID_CHARACTERS_MAX)
    end

    def api_key(text)
      raise Misconfigured, "There is no key: give api_key or set LEADS_API_KEY" if text.nil? || text == ""

      text = string(text, "The key").b
      raise Misconfigured, "This is a forms key; posting leads needs one that starts with lead_" if
        text.start_with?("form_live_", "form_test_")
      raise Misconfigured, "This is no key for leads: those start with lead_live_ or lead_test_" unless
        text.start_with?("lead_live_", "lead_test_")
      raise Misconfigured, "The key is mistyped or cut off" unless
        text.match?(KEY_SHAPE) && text.end_with?(checksum(text[0...-CHECKSUM_PLACES]))

      text.freeze
    end

    def base_url(text)
      raise Misconfigured, "There is no address: give base_url or set LEADS_BASE_URL" if text.nil? || text == ""

      uri = parse_address(string(text.to_s, "The address"))
      raise Misconfigured, "The address must start with https://" unless uri.is_a?(URI::HTTP)
      raise Misconfigured, "The address has no host" if uri.hostname.to_s.empty?
      raise Misconfigured, "The address has a port that cannot be" unless (1..65_535).cover?(uri.port)
      raise Misconfigured, "http:// is taken only to this machine; the address must start with https://" unless
        uri.is_a?(URI::HTTPS) || loopback?(uri.hostname)

      uri.path = uri.path.delete_suffix("/")
      uri.freeze
    end

    def seconds(number, name)
      return number.to_f if number.is_a?(Numeric) && number.real? && number.to_f.finite? && number.positive?

      raise Misconfigured, "#{name} must be a number of seconds over 0"
    end

    def tries(number)
      return number if number.is_a?(Integer) && number.positive?

      raise Misconfigured, "tries must be a whole number of at least 1"
    end

    def callable(object, name, methods = [:call])
      return object if methods.all? { |method| object.respond_to?(method) }

      raise Misconfigured, "#{name} must respond to #{methods.join(" and ")}"
    end

    def string(text, what)
      return text if text.is_a?(String)

      raise Misconfigured, "#{what} must be a String"
    end

    def printable(text, what, characters_max)
      raise Misconfigured, "#{what} has more than #{characters_max} characters" if text.length > characters_max

      raise Misconfigured, "#{what} may hold printable ASCII only" unless
        text.ascii_only? && text.match?(PRINTABLE)

      text.dup.freeze
    end

    def parse_address(text)
      uri = URI.parse(text)
      raise Misconfigured, "The address may not hold a user name or password" if text[AUTHORITY].include?("@")
      raise Misconfigured, "The address may not hold a query or a fragment" if uri.query || uri.fragment

      uri
    rescue URI::Error, ArgumentError, EncodingError
      # The parser's error quotes the address, which may have a password in it.
      raise Misconfigured.new("The address is not a URL"), cause: nil
    end

    def loopback?(host)
      return true if host.casecmp?("localhost")

      ip = IPAddr.new(host)
      ip.ipv4? ? IPAddr.new("127.0.0.0/8").include?(ip) : ip == IPAddr.new("::1")
    rescue IPAddr::Error
      false
    end

    # The CRC-32 of IEEE 802.3, in base62, the most significant digit first.
    def checksum(text)
      crc = Zlib.crc32(text)
      crc.digits(BASE62.size).map { |digit| BASE62[digit] }.join.ljust(CHECKSUM_PLACES, BASE62[0]).reverse
    end
  end
  private_constant :Arguments
end
