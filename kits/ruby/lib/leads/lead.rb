# frozen_string_literal: true

require_relative "json_text"

module Leads
  # A lead as it will be posted. The service normalizes and validates; nothing is changed or checked here.
  #
  #   Leads::Lead.new(first_name: "Ada", last_name: "Byron", phone: "555 010 0199", cost: BigDecimal("12.5"))
  #
  # Fields that the service does not know may be given too; it keeps them. A nil is sent as null, a field that is
  # not given is not sent. A plain Hash with symbols or strings as keys serves as well. Frozen; its string forms
  # show no field.
  class Lead
    # The fields that the service knows.
    FIELDS = %i[first_name last_name phone email street_address city state zip country project_area
                project_service project_material project_details external_id cost].freeze

    # @!attribute [r] first_name
    #   @return [String, nil] given name; required
    # @!attribute [r] last_name
    #   @return [String, nil] surname; required
    # @!attribute [r] phone
    #   @return [String, nil] in any format; required
    # @!attribute [r] email
    #   @return [String, nil]
    # @!attribute [r] street_address
    #   @return [String, nil] street line of the job's address
    # @!attribute [r] city
    #   @return [String, nil]
    # @!attribute [r] state
    #   @return [String, nil] two letters in the US and Canada, free text elsewhere
    # @!attribute [r] zip
    #   @return [String, nil]
    # @!attribute [r] country
    #   @return [String, nil] ISO 3166 alpha-2; US when omitted
    # @!attribute [r] project_area
    #   @return [String, nil] a term of {Client#vocabulary}, or your own
    # @!attribute [r] project_service
    #   @return [String, nil] replacement, repair, remodel or maintain
    # @!attribute [r] project_material
    #   @return [String, nil]
    # @!attribute [r] project_details
    #   @return [String, nil] the homeowner's words; line breaks are kept
    # @!attribute [r] external_id
    #   @return [String, nil] your id of the lead; recorded only
    # @!attribute [r] cost
    #   @return [BigDecimal, Numeric, nil] US dollars; omit it where there is no charge
    FIELDS.each { |field| define_method(field) { @fields[field] } }

    # @param fields [Hash{Symbol => Object}] the fields, known or not
    def initialize(**fields)
      @fields = fields.freeze
      freeze
    end

    # @return [Hash{Symbol => Object}] the fields as they were given; frozen
    def to_h
      @fields
    end

    # @return [Boolean] whether the other is a lead with equal fields
    def ==(other)
      other.is_a?(Lead) && other.to_h == to_h
    end
    alias eql? ==

    # @return [Integer] equal for equal leads
    def hash
      [self.class, @fields].hash
    end

    # @return [String] how many fields there are, and none of them
    def inspect
      "#<#{self.class} of #{@fields.size} fields>"
    end
    alias to_s inspect
  end
end
