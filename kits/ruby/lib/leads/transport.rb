# frozen_string_literal: true

require "net/http"
require_relative "transport/failures"
require_relative "transport/attempt"
require_relative "transport/connector"
require_relative "transport/pool"

module Leads
  # Sends a request and says what came of it. Nothing is raised and nothing repeated here, with one exception: a
  # kept connection that turns out to be closed before anything was sent is replaced.
  #
  # @api private
  class Transport
    # What came of a request. +flaw+ is nil for a whole answer, or +:broken+, +:timed_out+, +:interrupted+ or
    # +:not_to_repeat+; +sent+ tells whether bytes may have gone out; +reason+ is for people.
    Reply = Struct.new(:status, :head, :body, :flaw, :sent, :reason) do
      # The first value of the header, or nil.
      def header(name)
        head&.get_fields(name)&.first
      end

      # Whether it cannot be known what the service made of the request.
      def lost?
        sent && !flaw.nil?
      end

      def inspect
        "#<#{self.class} #{status} #{flaw}>"
      end
      alias_method :to_s, :inspect
    end

    # What may befall an exchange. Deliberately not StandardError: what a caller raises in this thread, as
    # Timeout.timeout does, has to pass.
    NET_ERRORS = [SystemCallError, IOError, SocketError, OpenSSL::SSL::SSLError, Net::OpenTimeout, Net::ReadTimeout,
                  Net::WriteTimeout, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError].freeze

    # Net::HTTP splits and joins the name of each header of each request, which is most of what it computes.
    module Names
      NAMES = %w[Accept Accept-Encoding Content-Length Content-Type Host Idempotency-Key If-None-Match User-Agent
                 X-API-Key X-Request-Id].to_h { |name| [name.downcase, name] }.freeze

      private

      def capitalize(name)
        NAMES.fetch(name) { super }
      end
    end

    Post = Class.new(Net::HTTP::Post) { include Names }
    Get = Class.new(Net::HTTP::Get) { include Names }
    REQUESTS = { "POST" => Post, "GET" => Get }.freeze

    private_constant :NET_ERRORS, :Names, :Post, :Get, :REQUESTS

    # @param address [URI::HTTP] the base address
    # @param cert_store [OpenSSL::X509::Store, nil]
    def initialize(address, cert_store)
      @address = address
      @connector = Connector.new(address, cert_store)
      @pool = Pool.new
    end

    # @param path [String] what follows the base address
    # @param seconds [Float] the time-out of the whole
    # @return [Reply]
    def exchange(http_method, path, headers, body, seconds:, cancellation: nil)
      attempt = Attempt.new(seconds, cancellation)
      request = -> { request(http_method, path, headers, body) }
      kept = @pool.take
      reply = over(kept, request.call, attempt) if kept
      return reply unless reply.nil? || (reply.flaw == :broken && !reply.sent)

      over(Connection.new(@address, @connector), request.call, attempt)
    end

    # Closes the connections that are idle.
    def close
      @pool.clear
    end

    private

    def request(http_method, path, headers, body)
      request = REQUESTS.fetch(http_method).new("#{@address.path}#{path}", headers)
      request.body = body
      request
    end

    def over(connection, request, attempt)
      response = connection.exchange(request, attempt)
      Reply.new(response.code.to_i, response, response.body&.dup&.force_encoding(Encoding::UTF_8), nil, true)
    rescue NotToRepeat
      Reply.new(connection.status, nil, nil, :not_to_repeat, true)
    rescue TimedOut, Interrupted, Garbled, *NET_ERRORS => e
      Reply.new(nil, nil, nil, flaw(e), connection.sent?, reason(e))
    ensure
      @pool.put(connection)
    end

    def flaw(error)
      case error
      when TimedOut then :timed_out
      when Interrupted then :interrupted
      else :broken
      end
    end

    # Names the error, and does not quote it: a parser's message may hold anything.
    def reason(error)
      case error
      when TimedOut then "no answer in time"
      when Garbled then "an answer that is not HTTP"
      when OpenSSL::SSL::SSLError
        error.message.match?(/certificate verify failed|hostname/) ? "certificate not verified" : "TLS failed"
      else error.class.name
      end
    end
  end
  private_constant :Transport
end
