# frozen_string_literal: true

require_relative "arguments"
require_relative "call"
require_relative "cancellation"
require_relative "clock"
require_relative "operations"
require_relative "secret"
require_relative "transport"

module Leads
  # As sent with each request.
  USER_AGENT = "leads-ruby/#{VERSION}".freeze
  private_constant :USER_AGENT

  # Posts leads, checks the key and reads the vocabulary. One client may be shared by any number of threads; it
  # keeps its connections alive, and may be made before a process forks. Nothing is opened before the first call.
  #
  # All times are in seconds. Each call is tried again, where that may be done, until it has an answer that counts,
  # +tries+ are spent, or its deadline is over.
  class Client
    # Calls not bounded otherwise end after this many seconds, their waits included.
    DEADLINE = 120

    # A try ends after this many seconds, from the look-up of the name to the last byte of the answer.
    TRY_TIMEOUT = 20

    # How often a call is tried. An answer of 429 is waited for and does not count.
    TRIES = 5

    # What the calls share.
    Settings = Struct.new(:transport, :tries, :try_timeout, :observer, :clock, :sleep, :random, keyword_init: true)
    private_constant :Settings

    # @param api_key [String, nil] the key; LEADS_API_KEY of the environment when nil
    # @param base_url [String, URI, nil] the service's address, https://; LEADS_BASE_URL when nil
    # @param tries [Integer] how often a call is tried; 1 for no retry
    # @param try_timeout [Numeric] seconds for each try
    # @param deadline [Numeric] seconds for a call with its waits, where the call has none of its own
    # @param cert_store [OpenSSL::X509::Store, nil] the authorities to trust; the platform's when nil, to which
    #   SSL_CERT_FILE and SSL_CERT_DIR belong
    # @param observer [#call, nil] is given a {TryEvent} or a {WaitEvent} in the thread of the call; what it
    #   raises is not passed on
    # @param clock [#now, #monotonic] for tests: see {Clock}
    # @param sleep [#call] for tests: is given the seconds of a wait, and the call's {Cancellation} or nil
    # @param random [#call] for tests: gives the jitter, from 0 to 1
    # @raise [Misconfigured] if the key, the address or an option cannot be used
    def initialize(api_key: nil, base_url: nil, tries: TRIES, try_timeout: TRY_TIMEOUT, deadline: DEADLINE,
                   cert_store: nil, observer: nil, clock: Clock, sleep: nil, random: nil)
      @api_key = Secret.new(Arguments.api_key(api_key || ENV.fetch("LEADS_API_KEY", nil)))
      @address = Arguments.base_url(base_url || ENV.fetch("LEADS_BASE_URL", nil))
      @deadline = Arguments.seconds(deadline, "deadline")
      @settings = Settings.new(
        transport: Transport.new(@address, cert_store),
        tries: Arguments.tries(tries), try_timeout: Arguments.seconds(try_timeout, "try_timeout"),
        observer: observer && Arguments.callable(observer, "observer"),
        clock: Arguments.callable(clock, "clock", %i[now monotonic]),
        sleep: Arguments.callable(sleep || SLEEP, "sleep"), random: Arguments.callable(random || RANDOM, "random")
      ).freeze
      @vocabulary = nil
      @vocabulary_lock = Mutex.new
    end

    # Posts a lead. On return the service has it, durably.
    #
    # @param lead [Lead, Hash] the lead; sent as it is given
    # @param idempotency_key [String] the same each time this lead is posted: see {Leads.idempotency_key}
    # @param request_id [String, nil] for your logs and the service's; one is made up when nil
    # @param deadline [Numeric, nil] seconds for this call with its waits
    # @param cancellation [Cancellation, nil] ends the call when it is cancelled
    # @return [Acknowledgement]
    # @raise [InvalidLead] if fields have to be corrected first
    # @raise [Unauthorized] if the service does not know the key
    # @raise [Refused] if the service gave another answer that must not be repeated
    # @raise [Unavailable] if tries or deadline are spent: try later, with the same idempotency key
    # @raise [Cancelled] if the cancellation was cancelled
    # @raise [Misconfigured] if an argument cannot be used; nothing was sent
    def post_lead(lead, idempotency_key:, request_id: nil, deadline: nil, cancellation: nil)
      idempotency_key = Arguments.idempotency_key(idempotency_key)
      fields = lead.is_a?(Lead) ? lead.to_h : lead
      raise Misconfigured, "The lead must be a Hash or a Leads::Lead" unless fields.is_a?(Hash)

      call(Operations::PostLead.new(@api_key, idempotency_key, fields), request_id, deadline, cancellation)
    end

    # Asks the service whether it knows the key. Stores nothing; safe in production.
    #
    # @param request_id [String, nil] as for {#post_lead}
    # @param deadline [Numeric, nil] as for {#post_lead}
    # @param cancellation [Cancellation, nil] as for {#post_lead}
    # @return [KeyCheck]
    # @raise [Refused, Unavailable, Cancelled, Misconfigured] if it could not be found out
    def check_key(request_id: nil, deadline: nil, cancellation: nil)
      call(Operations::CheckKey.new(@api_key), request_id, deadline, cancellation)
    end

    # Reads the service's words for projects. They are kept for as long as the service allows, then asked for again.
    # The key is not sent.
    #
    # @param request_id [String, nil] as for {#post_lead}
    # @param deadline [Numeric, nil] as for {#post_lead}
    # @param cancellation [Cancellation, nil] as for {#post_lead}
    # @return [Vocabulary]
    # @raise [Refused, Unavailable, Cancelled, Misconfigured] if it could not be read
    def vocabulary(request_id: nil, deadline: nil, cancellation: nil)
      kept = @vocabulary_lock.synchronize { @vocabulary }
      return kept.vocabulary if kept && @settings.clock.monotonic < kept.ends_at

      operation = Operations::ReadVocabulary.new(etag: kept&.etag, kept: kept&.vocabulary) do |vocabulary, reply|
        keep(vocabulary, reply, kept)
      end
      call(operation, request_id, deadline, cancellation)
    end

    # Closes the connections that are idle. The client can still be used.
    #
    # @return [nil]
    def close
      @settings.transport.close
      nil
    end

    # @return [String] the address, and no key
    def inspect
      "#<#{self.class} #{@address}>"
    end
    alias to_s inspect

    private

    SLEEP = ->(seconds, cancellation) { cancellation ? cancellation.wait(seconds) : Kernel.sleep(seconds) }
    RANDOM = -> { Random.rand }
    Kept = Struct.new(:vocabulary, :etag, :max_age, :ends_at, keyword_init: true)
    # As 16 characters.
    REQUEST_ID_BYTES = 8
    # Longer than any process lives.
    MAX_AGE_DIGITS_MAX = 9
    # Of RFC 9110, 8.8.3. One of another form, with control characters perhaps, is not sent back.
    ETAG = %r{\A(?:W/)?"[!\x23-\x7E\x80-\xFF]*"\z}n
    private_constant :SLEEP, :RANDOM, :Kept, :REQUEST_ID_BYTES, :MAX_AGE_DIGITS_MAX, :ETAG

    def call(operation, request_id, deadline, cancellation)
      request_id = request_id.nil? ? new_request_id : Arguments.request_id(request_id)
      deadline = deadline.nil? ? @deadline : Arguments.seconds(deadline, "deadline")
      Arguments.callable(cancellation, "cancellation", %i[cancelled? wait to_io]) if cancellation
      Call.new(@settings, operation, request_id: request_id, deadline: deadline, cancellation: cancellation).run
    end

    def new_request_id
      "leads-ruby-#{Random.urandom(REQUEST_ID_BYTES).unpack1("H*")}"
    end

    def keep(vocabulary, reply, before)
      max_age = max_age(reply.header("Cache-Control")) || (reply.status == 304 ? before.max_age : 0)
      etag = reply.header("ETag")&.b&.[](ETAG) || (reply.status == 304 ? before.etag : nil)
      kept = Kept.new(vocabulary: vocabulary, etag: etag, max_age: max_age,
                      ends_at: @settings.clock.monotonic + max_age)
      @vocabulary_lock.synchronize { @vocabulary = kept }
    end

    def max_age(text)
      return if text.nil?
      return 0 if text.match?(/\bno-(?:store|cache)\b/i)

      text[/(?:\A|[\s,])max-age="?(\d+)/i, 1]&.slice(0, MAX_AGE_DIGITS_MAX)&.to_i
    end
  end
end
