# frozen_string_literal: true

module Leads
  # Any failure of a call. Rescue a subclass to act on one kind, or this one for all.
  #
  # No error holds a key, a lead, or what an answer said beyond its code: errors may be logged whole.
  class Error < StandardError
    # @return [Integer, nil] the status of the last try's answer; nil where none came
    attr_reader :status

    # @return [String, nil] the service's own word for the error, such as +"rate_limited"+; nil where
    #   none came, or where the answer was not the service's
    attr_reader :code

    # @return [String, nil] what that answer says is wrong, in a sentence for people; nil where it says nothing.
    #   Do not parse it. It stands in no message
    attr_reader :detail

    # @return [String, nil] the X-Request-Id that was sent, to be quoted to support; nil when nothing was sent
    attr_reader :request_id

    # @return [Integer] how many tries were spent; an answer of 429 spends none
    attr_reader :tries

    # @param message [String, nil] what happened, free of secrets
    # @param status [Integer, nil] see {#status}
    # @param code [String, nil] see {#code}
    # @param detail [String, nil] see {#detail}
    # @param request_id [String, nil] see {#request_id}
    # @param tries [Integer] see {#tries}
    # @param unknown_outcome [Boolean] see {#unknown_outcome?}
    def initialize(message = nil, status: nil, code: nil, detail: nil, request_id: nil, tries: 0,
                   unknown_outcome: false)
      super(message)
      @status = status
      @code = code
      @detail = detail
      @request_id = request_id
      @tries = tries
      @unknown_outcome = unknown_outcome
    end

    # Whether the lead may have been accepted although this error came: it, or a part of it, went out and no
    # usable answer came back. Posting it again with the same idempotency key finds out, and does no harm.
    #
    # @return [Boolean]
    def unknown_outcome?
      @unknown_outcome
    end

    # The kind of error in the words that all kits share, such as +:invalid_lead+; +:error+ for none.
    #
    # @return [Symbol]
    def kind
      :error
    end
  end

  # The service does not know the key, or no longer (401). Alert a person; do not post again until it is mended.
  class Unauthorized < Error
    # @return [Symbol] +:unauthorized+
    def kind
      :unauthorized
    end
  end

  # The service cannot take this lead as it is (422). Correct the {#fields}, then post it with the same
  # idempotency key: it was not used up.
  class InvalidLead < Error
    # @return [Hash{String => String}] each failing field and the reason: +required+, +too_long+ or
    #   +out_of_range+; frozen
    attr_reader :fields

    # @param message [String, nil] what happened, free of secrets
    # @param fields [Hash{String => String}] see {#fields}
    # @param details [Hash] as for {Error#initialize}
    def initialize(message = nil, fields: {}, **details)
      super(message, **details)
      @fields = fields.freeze
    end

    # @return [Symbol] +:invalid_lead+
    def kind
      :invalid_lead
    end
  end

  # Any other answer that must not be repeated. Read status and code.
  class Refused < Error
    # @return [Symbol] +:refused+
    def kind
      :refused
    end
  end

  # Tries or deadline are spent. Try later, with the same idempotency key.
  class Unavailable < Error
    # @return [Symbol] +:unavailable+
    def kind
      :unavailable
    end
  end

  # The caller's {Cancellation} was cancelled. As for {Unavailable}: try later, with the same idempotency key.
  class Cancelled < Error
    # @return [Symbol] +:cancelled+
    def kind
      :cancelled
    end
  end

  # A key, an address or an argument is wrong. It was found before anything was sent.
  class Misconfigured < Error
    # @return [Symbol] +:misconfigured+
    def kind
      :misconfigured
    end
  end
end
