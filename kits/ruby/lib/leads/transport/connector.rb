# frozen_string_literal: true

require "openssl"
require "socket"
require "uri"
require_relative "wire"

module Leads
  class Transport
    # Opens connections to one address: look-up of the name, proxy, TLS. Net::HTTP would give each of these steps
    # a time-out of its own, and none to the name server.
    #
    # @api private
    class Connector
      # @param address [URI::HTTP]
      # @param cert_store [OpenSSL::X509::Store, nil] the authorities; the platform's when nil
      def initialize(address, cert_store)
        @address = address
        @host = address.hostname
        @context = tls_context(cert_store) if address.is_a?(URI::HTTPS)
      end

      # @return [Wire] connected, its certificate verified
      # @raise [Failure, SystemCallError, SocketError, IOError, OpenSSL::SSL::SSLError]
      def open(attempt)
        proxy, addresses = attempt.apart { route }
        socket = connect_to_one(addresses, attempt)
        begin
          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          tunnel(socket, proxy, attempt) if proxy
          wire = Wire.new(@context ? secure(socket, attempt) : socket, attempt)
        ensure
          socket.close unless wire
        end
      end

      private

      def tls_context(cert_store)
        context = OpenSSL::SSL::SSLContext.new
        # These parameters have the peer verified; its name or address is checked after the handshake, too.
        context.set_params(cert_store: cert_store || platform_store, min_version: OpenSSL::SSL::TLS1_2_VERSION,
                           verify_hostname: name?)
        context.tap(&:freeze)
      end

      # Not OpenSSL's default store: that one read SSL_CERT_FILE and SSL_CERT_DIR when it was loaded.
      def platform_store
        OpenSSL::X509::Store.new.tap(&:set_default_paths)
      end

      # The proxy of the environment, if any, and what to connect to. Both may ask a name server.
      def route
        proxy = @address.find_proxy
        target = proxy || @address
        [proxy, Addrinfo.getaddrinfo(target.hostname, target.port, nil, :STREAM)]
      end

      # Each address may take its part of the time that is left, so that one that swallows packets does not keep
      # the next from its turn.
      def connect_to_one(addresses, attempt)
        addresses.each_with_index do |address, index|
          others = addresses.size - index - 1
          return connect(address, others.zero? ? attempt : attempt.part(others + 1))
        rescue TimedOut, SystemCallError
          raise if others.zero?
        end
        raise SocketError, "no address"
      end

      def connect(address, attempt)
        socket = Socket.new(address.pfamily, :STREAM)
        while socket.connect_nonblock(address, exception: false) == :wait_writable
          attempt.wait_writable(socket)
          attempt.check!
        end
        connected = socket
      ensure
        socket&.close unless connected
      end

      def tunnel(socket, proxy, attempt)
        wire = Wire.new(socket, attempt)
        wire.write("CONNECT #{target} HTTP/1.1\r\nHost: #{target}\r\n#{proxy_authorization(proxy)}\r\n")
        wire.readline
        nil until wire.readline.empty?
        raise Garbled unless (200..299).cover?(wire.status) && wire.quiet?
      end

      def target
        "#{@address.host}:#{@address.port}"
      end

      def proxy_authorization(proxy)
        return unless proxy.user

        credentials = [proxy.user, proxy.password.to_s].map { |part| URI.decode_www_form_component(part) }.join(":")
        "Proxy-Authorization: Basic #{[credentials].pack("m0")}\r\n"
      end

      def secure(socket, attempt)
        tls = OpenSSL::SSL::SSLSocket.new(socket, @context)
        tls.hostname = @host if name?
        loop do
          case tls.connect_nonblock(exception: false)
          when :wait_readable then attempt.wait_readable(socket)
          when :wait_writable then attempt.wait_writable(socket)
          else break
          end
          attempt.check!
        end
        tls.post_connection_check(@host)
        tls
      end

      # Whether the host is a name and not an address, which the handshake cannot tell the server (RFC 6066, 3).
      def name?
        !@host.match?(/\A[\d.]+\z|:/)
      end
    end
  end
end
