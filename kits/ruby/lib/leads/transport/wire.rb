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
      CHUNK_BYTES = 16_384

      HEAD_END = /\r?\n\r?\n/n
      HEAD = %r{\AHTTP/1\.[01]\x20([1-9]\d\d)(?:\x20[^\r\n\0]*)?\r?\n
               (?>[!\#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r?\n)*\r?\n\z}xn
      SIZE_LINE = /\A\h+[ \t]*(?:;[^\r\n\0]*)?\r?\n\z/n
      LAST_SIZE = /\A0+[^\h]/n
      FINAL_ANSWER = %r{(?:\A|\n\r?\n)HTTP/1\.[01] [2-9]}n
      HTTP = "HTTP/1."

      attr_reader :status
      # Net::HTTP sets these; time is bounded by the attempt instead.
      attr_accessor :read_timeout, :write_timeout, :continue_timeout, :debug_output

      def initialize(io, attempt)
        @io = io
        @input = String.new(encoding: Encoding::BINARY)
        @chunk = String.new(capacity: CHUNK_BYTES, encoding: Encoding::BINARY)
        @output = String.new(encoding: Encoding::BINARY)
        @spoiled = false
        start(attempt)
      end

      # Begins an exchange within the bounds of the attempt.
      def start(attempt)
        @attempt = attempt
        @sent = @asked = false
        @failure = @status = nil
        @head = []
        @interim = @framing_bytes = @body_bytes = 0
        @phase = :head
      end

      # Whether bytes of the exchange may have gone out.
      def sent?
        @sent
      end

      # Whether another exchange may follow. What came unasked after an answer, an end of the connection
      # included, would be taken for the next one's.
      def quiet?
        whole? && @io.read_nonblock(1, exception: false) == :wait_readable
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        false
      end

      def closed?
        @io.to_io.closed?
      end

      # Whether the last exchange left nothing behind that is known of.
      def whole?
        !(closed? || @spoiled) && @input.empty?
      end

      # Closes without a word of TLS, which could block, and would end the connection of the parent, too, where
      # this process was forked.
      def close
        @io.to_io.close
      end

      # Net::HTTP asks whether what is below an idle connection has become readable. It need not: quiet? is asked
      # before, and the answer there would cost a call of the system.
      def io
        self
      end
      alias to_io io

      def wait_readable(_timeout)
        nil
      end

      # Kept until an answer is waited for, so that head and body leave in one packet.
      def write(*strings)
        strings.each { |string| @output << string }
        strings.sum(&:bytesize)
      end
      alias << write

      def readline
        readuntil("\n").chomp
      end

      def readuntil(_terminator = "\n", _ignore_eof = nil)
        return @head.shift unless @head.empty?

        finish_sending
        return framing_line(@input.slice!(0, find("\n") + 1)) unless @phase == :head

        receive_head
        @head.shift
      end

      # Passes on bytes of the body as they come; without a destination, what ends a chunk.
      def read(length, destination = nil, _ignore_eof = nil)
        finish_sending
        return end_of_chunk(length) unless destination

        while length.positive?
          fill if @input.empty?
          length -= pass_on([length, @input.bytesize].min, destination)
        end
        destination
      end

      # Passes on a body that is ended by the connection's end.
      def read_all(destination)
        finish_sending
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

      def finish_sending
        raise @failure if @failure

        flush unless @output.empty?
      end

      def fill
        # An answer is never there at once: to wait first saves a look.
        @attempt.wait_readable(@io.to_io) if @asked
        @asked = false
        loop do
          @attempt.check!
          case read_chunk
          when String then return @input << @chunk
          when nil then fail_with(EOFError)
          when :wait_readable then @attempt.wait_readable(@io.to_io)
          when :wait_writable then @attempt.wait_writable(@io.to_io)
          end
        end
      end

      # Into a buffer that is used again: a new one for each would be most of what a post allocates.
      def read_chunk
        @io.read_nonblock(CHUNK_BYTES, @chunk, exception: false)
      end

      def flush
        until @output.empty?
          @attempt.check!
          sent = @io.write_nonblock(@output.byteslice(0, CHUNK_BYTES), exception: false)
          @sent = @asked = true
          case sent
          when Integer then @output.slice!(0, sent)
          when :wait_writable then stop_sending if answered?
          when :wait_readable then @attempt.wait_readable(@io.to_io)
          end
        end
      rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
        # The service may have answered before it had read all, a lead that is too large for example.
        raise unless @sent

        stop_sending
      end

      def stop_sending
        @spoiled = true
        @asked = false
        @output.clear
      end

      # Waits until more can be sent; true when there is no use in that, because the answer has come.
      def answered?
        @attempt.wait_either(@io.to_io)
        bytes = read_chunk
        @input << @chunk if bytes.is_a?(String)
        bytes.nil? || @input.match?(FINAL_ANSWER) || @input.bytesize > HEAD_BYTES_MAX
      end

      # Where the sought begins in what has come, or will.
      def find(sought)
        from = 0
        until (at = @input.index(sought, from))
          fail_with(Garbled) if @input.bytesize > HEAD_BYTES_MAX
          # What is sought may have begun with the last bytes.
          from = [@input.bytesize - 3, 0].max
          fill
          fail_with(Garbled) if @phase == :head && !@input.start_with?(HTTP[0, @input.bytesize])
        end
        at > HEAD_BYTES_MAX ? fail_with(Garbled) : at
      end

      # Lets Net::HTTP see a head only once it is whole and sound.
      def receive_head
        at = find(HEAD_END)
        head = @input.slice!(0, at + @input[at, 4][HEAD_END].bytesize)
        status = head[HEAD, 1] or fail_with(Garbled)
        @status = status.to_i
        @interim += 1 if @status < 200
        fail_with(NotToRepeat) if @status == 101 || @interim > INTERIM_ANSWERS_MAX
        @head = head.lines
        @phase = :sizes unless @status < 200
      end

      # A line that frames a chunk, or one of the trailer.
      def framing_line(line)
        @framing_bytes += line.bytesize
        fail_with(Garbled) if @framing_bytes > (@phase == :sizes ? FRAMING_BYTES_MAX : HEAD_BYTES_MAX)
        return line if @phase == :trailer

        fail_with(Garbled) unless line.match?(SIZE_LINE)
        if line.match?(LAST_SIZE)
          @phase = :trailer
          @framing_bytes = 0
        end
        line
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
