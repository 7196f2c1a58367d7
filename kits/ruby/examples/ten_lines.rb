# frozen_string_literal: true

require "leads"

lead = { first_name: "Ada", last_name: "Byron", phone: "555 010 0199" }
key = Leads.idempotency_key("acme", 42) # your name, your id of the lead
begin
  posted = Leads::Client.new.post_lead(lead, idempotency_key: key)
  puts "#{posted.status}: #{posted.event_id}"
rescue Leads::InvalidLead => e
  puts "Correct and post again: #{e.fields}"
rescue Leads::Unavailable
  puts "Post again later, with the same idempotency key"
rescue Leads::Error => e
  abort "Call a person: #{e.message} (#{e.request_id})"
end
