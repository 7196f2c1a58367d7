# frozen_string_literal: true

require "net/http"
require_relative "failures"

module Leads
  class Transport
    # One kept-alive connection. Net::HTTP speaks; what it speaks over is a Wire.
    #
    # @api private
    class Connection
      # Puts a Wire under a Net::HTTP, which would otherwise connect by itself. Extends the object and not the
      # class, so that tools that replace the class, such as WebMock, see all requests.
      module OverWire
        attr_accessor :wire_opener
        attr_reader :wire

        private

        def connect
          @last_communicated = nil
          @socket = @wire = wire_opener.call
        end
      end

      def initialize(address, connector)
        @http = Net::HTTP.new(address.hostname, address.port, nil)
        @http.extend(OverWire)
        @http.use_ssl = address.is_a?(URI::HTTPS)
        # It would repeat a GET of which we know no more than that it failed.
        @http.max_retries = 0
        # Whether an idle connection may be used is judged by the pool.
        @http.keep_alive_timeout = Float::INFINITY
        @connector = connector
        @idle_since = nil
      end

      # @return [Net::HTTPResponse] whole, with its body
      def exchange(request, attempt)
        @http.wire_opener = -> { @connector.open(attempt) }
        wire&.start(attempt)
        @http.start unless @http.started?
        response = @http.request(request)
        raise Garbled unless one_length?(response)

        @idle_since = monotonic
        response
      end

      # Whether bytes of the last exchange may have gone out.
      def sent?
        wire ? wire.sent? : false
      end

      # The status of the answer whose head has come, if one has.
      def status
        wire&.status
      end

      # Whether it may be kept for another exchange.
      def whole?
        !@idle_since.nil? && !wire.nil? && wire.whole?
      end

      # Whether nothing has come over it since, such as its end.
      def quiet?
        wire.quiet?
      end

      # Seconds since the last exchange.
      def idle
        monotonic - @idle_since
      end

      # Marks it as in use: it is kept again only once an exchange has ended well.
      def take
        @idle_since = nil
        self
      end

      def close
        wire&.close
      end

      private

      # Net::HTTP takes the first number that it finds.
      def one_length?(response)
        lengths = response.get_fields("Content-Length")
        lengths.nil? || (lengths.uniq.one? && lengths.first.match?(/\A\d+\z/))
      end

      def wire
        @http.wire
      end

      def monotonic
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
