# frozen_string_literal: true

require "openssl"
require_relative "failures"

module Leads
  class Transport
    # What Net::HTTP reads from and writes to, in the place of its own Net::BufferedIO, which has no bound on
    # what it holds, takes an answer that was cut short for a whole one, lets each single read have the whole
    # time-out, and does not tell how much was sent.
    #
    # @api private
    class Wire
      INTERIM_ANSWERS_MAX = 20
      BODY_BYTES_MAX = 1_048_576
      # Of one head; and of all that frames a body: the lines of its chunks, and the trailer.
      HEAD_BYTES_MAX = 65_536
      FRAMING_BYTES_MAX = 16 * BODY_BYTES_MAX
      CHUNK_BYTES = 65_536

      STATUS_LINE = %r{\AHTTP/1\.[01] ([1-9]\d\d)(?: [^\r\n\0]*)?\r?\n\z}n
      FIELD_LINE = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r?\n\z/n
      LENGTH_LINE = /\AContent-Length:[ \t]*(.*?)[ \t]*\r?\n\z/ni
      SIZE_LINE = /\A\h+[ \t]*(?:;[^\r\n\0]*)?\r?\n\z/n
      LAST_SIZE = /\A0+[^\h]/n
      FINAL_ANSWER = %r{\AHTTP/1\.[01] [2-9]}n

      attr_reader :io, :status
      # Net::HTTP sets these; time is bounded by the attempt instead.
      attr_accessor :read_timeout, :write_timeout, :continue_timeout, :debug_output

      def initialize(io, attempt)
        @io = io
        @input = String.new(encoding: Encoding::BINARY)
        @output = String.new(encoding: Encoding::BINARY)
        @spoiled = false
        start(attempt)
      end

      # Begins an exchange within the bounds of the attempt.
      def start(attempt)
        @attempt = attempt
        @sent = false
        @failure = @status = @length = nil
        @interim = @counted = @body_bytes = 0
        @phase = :status
      end

      # Whether bytes of the exchange may have gone out.
      def sent?
        @sent
      end

      # Whether another exchange may follow. What came unasked after an answer, an end of the connection
      # included, would be taken for the next one's.
      def quiet?
        return false if closed? || @spoiled || !@input.empty?

        @io.read_nonblock(1, exception: false) == :wait_readable
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        false
      end

      def closed?
        @io.to_io.closed?
      end

      # Closes without a word of TLS, which could block, and would end the connection of the parent, too, where
      # this process was forked.
      def close
        @io.to_io.close
      end

      # Only asked of an idle connection that has become readable; that was seen to before.
      def eof?
        true
      end

      # Kept until an answer is waited for, so that head and body leave in one packet.
      def write(*strings)
        strings.sum do |string|
          @output << string.b
          string.bytesize
        end
      end
      alias << write

      def readline
        readuntil("\n").chomp
      end

      def readuntil(terminator, _ignore_eof = nil)
        flush
        from = 0
        until (at = @input.index(terminator, from))
          from = @input.bytesize
          fail_with(Garbled) if from > HEAD_BYTES_MAX
          fill
        end
        read_line(@input.slice!(0, at + terminator.bytesize))
      end

      # Passes on bytes of the body as they come; without a destination, what ends a chunk.
      def read(length, destination = nil, _ignore_eof = nil)
        flush
        return end_of_chunk(length) unless destination

        while length.positive?
          fill if @input.empty?
          length -= pass_on([length, @input.bytesize].min, destination)
        end
        destination
      end

      # Passes on a body that is ended by the connection's end.
      def read_all(destination)
        flush
        @spoiled = true
        loop do
          pass_on(@input.bytesize, destination)
          fill
        end
      rescue EOFError
        destination
      end

      def inspect
        "#<#{self.class}>"
      end

      private

      # Once failed, always failed: Net::HTTP goes on reading in its ensure clauses.
      def fail_with(failure)
        @failure = failure
        raise failure
      end

      def fill
        raise @failure if @failure

        loop do
          @attempt.check!
          case bytes = @io.read_nonblock(CHUNK_BYTES, exception: false)
          when String then return @input << bytes
          when nil then fail_with(EOFError)
          when :wait_readable then @attempt.wait_readable(@io.to_io)
          when :wait_writable then @attempt.wait_writable(@io.to_io)
          end
        end
      end

      def flush
        until @output.empty?
          @attempt.check!
          case sent = @io.write_nonblock(@output.byteslice(0, CHUNK_BYTES), exception: false)
          when Integer then @output = @output.byteslice(sent..)
          when :wait_writable then stop_sending if answered?
          when :wait_readable then @attempt.wait_readable(@io.to_io)
          end
          @sent = true
        end
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        # The service may have answered before it had read all, a lead that is too large for example.
        raise unless @sent

        stop_sending
      end

      def stop_sending
        @spoiled = true
        @output.clear
      end

      # Waits until more can be sent; true when there is no use in that, because the answer has come.
      def answered?
        @attempt.wait_either(@io.to_io)
        bytes = @io.read_nonblock(CHUNK_BYTES, exception: false)
        @input << bytes if bytes.is_a?(String)
        bytes.nil? || @input.match?(FINAL_ANSWER) || @input.bytesize > HEAD_BYTES_MAX
      end

      def read_line(line)
        @counted += line.bytesize
        fail_with(Garbled) if @counted > (@phase == :sizes ? FRAMING_BYTES_MAX : HEAD_BYTES_MAX)
        case @phase
        when :status then status_line(line)
        when :fields then field_line(line)
        when :sizes then size_line(line)
        end
        line
      end

      def status_line(line)
        @status = line[STATUS_LINE, 1]&.to_i or fail_with(Garbled)
        @interim += 1 if @status < 200
        fail_with(NotToRepeat) if @status == 101 || @interim > INTERIM_ANSWERS_MAX
        @phase = :fields
      end

      def field_line(line)
        return end_of_head if line.match?(/\A\r?\n\z/)

        fail_with(Garbled) unless line.match?(FIELD_LINE)
        length = line[LENGTH_LINE, 1] or return
        fail_with(Garbled) unless length.match?(/\A\d+\z/) && [nil, length].include?(@length)
        @length = length
      end

      def end_of_head
        @phase = @status < 200 ? :status : :sizes
        @counted = 0
      end

      def size_line(line)
        fail_with(Garbled) unless line.match?(SIZE_LINE)
        return unless line.match?(LAST_SIZE)

        @phase = :trailer
        @counted = 0
      end

      def end_of_chunk(length)
        fill while @input.bytesize < length
        line = @input.slice!(0, length)
        fail_with(Garbled) unless line == "\r\n"
        line
      end

      def pass_on(length, destination)
        @body_bytes += length
        fail_with(NotToRepeat) if @body_bytes > BODY_BYTES_MAX
        destination << @input.slice!(0, length)
        length
      end
    end
  end
end
