# frozen_string_literal: true

require_relative "connection"

module Leads
  class Transport
    # The connections that nobody uses at the moment. Each call that is under way has one to itself, so that there
    # are never more than calls at once; of those that become idle a bounded number is kept.
    #
    # @api private
    class Pool
      IDLE_MAX = 16

      # Chosen below the minute after which most servers and gateways hang up, because a request that meets a
      # connection as it is being closed has an unknown outcome.
      IDLE_SECONDS_MAX = 30

      def initialize
        @lock = Mutex.new
        @idle = []
        @process = Process.pid
      end

      # An idle connection that still stands, the one that was used last first; nil when there is none.
      def take
        while (connection = @lock.synchronize { mine.pop })
          return connection.take if connection.idle < IDLE_SECONDS_MAX && connection.quiet?

          connection.close
        end
      end

      # Keeps the connection if it can be used again, and closes it otherwise.
      def put(connection)
        surplus = connection
        if connection.whole?
          @lock.synchronize do
            mine.push(connection)
            surplus = @idle.size > IDLE_MAX ? @idle.shift : nil
          end
        end
      ensure
        surplus&.close
      end

      # Closes the connections that are idle.
      def clear
        @lock.synchronize { mine.slice!(0..) }.each(&:close)
      end

      private

      # After a fork the parent's connections are here, too: two processes would talk into one another's. Closing
      # our ends of them leaves the parent's open.
      def mine
        return @idle if @process == Process.pid

        @process = Process.pid
        @idle.each(&:close)
        @idle = []
      end
    end
  end
end
