# frozen_string_literal: true

module Leads
  # The version of this library, as in the gem's manifest and the User-Agent.
  VERSION = "0.1.0"
end
