# frozen_string_literal: true

require_relative "leads/version"
require_relative "leads/errors"
require_relative "leads/value"
require_relative "leads/results"
require_relative "leads/events"
require_relative "leads/cancellation"
require_relative "leads/clock"
require_relative "leads/lead"
require_relative "leads/client"

# Posts sales leads to the Lead Intake Service.
#
#   leads = Leads::Client.new            # LEADS_API_KEY and LEADS_BASE_URL
#   leads.post_lead({ first_name: "Ada", last_name: "Byron", phone: "555 010 0199" },
#                   idempotency_key: Leads.idempotency_key("acme", 42))
#
# Every failure of a call is a {Leads::Error}; its subclasses say what to do.
module Leads
  # Composes an idempotency key of a namespace of yours and your own id of the lead. Keys are
  # shared by all sources of one customer, which is why a bare id is not enough: it could be
  # another source's, and the lead would be taken for a duplicate of theirs.
  #
  # @param namespace [#to_s] yours alone, such as your company's short name
  # @param id [#to_s] your id of the lead; the same for each time this lead is posted
  # @return [String] +namespace:id+, frozen
  # @raise [Misconfigured] if a part is blank, or the whole is over 200 characters or not printable ASCII
  def self.idempotency_key(namespace, id)
    parts = [namespace.to_s, id.to_s]
    raise Misconfigured, "An idempotency key needs a namespace and an id; one of them is blank" if
      parts.any? { |part| Arguments.blank?(part) }

    Arguments.idempotency_key(parts.join(":"))
  end
end
