# frozen_string_literal: true

require_relative "support"

# What of a lead reaches the wire.
class LeadTest < Minitest::Test
  include Support

  def test_numbers_keep_their_digits
    lead = Leads::Lead.new(cost: BigDecimal("999.99"), exact: BigDecimal("0.1") + BigDecimal("0.2"),
                           tiny: BigDecimal("1e-10"), whole: 12_345_678_901_234_567_890, float: 0.1 + 0.2)
    assert_equal '{"cost":999.99,"exact":0.3,"tiny":0.0000000001,"whole":12345678901234567890,' \
                 '"float":0.30000000000000004}', sent(lead)
  end

  def test_a_decimal_with_a_huge_exponent_does_not_fill_the_memory
    assert_equal '{"n":0.1e1000000000}', sent({ n: BigDecimal("1e999999999") })
  end

  def test_nil_is_null_and_what_is_absent_is_not_sent
    assert_equal '{"email":null}', sent(Leads::Lead.new(email: nil))
  end

  def test_unknown_fields_and_keys_of_either_sort_pass_through
    assert_equal '{"first_name":"Ada","pets":[{"kind":"cat"},true,null],"last_name":"Byron"}',
                 sent({ "first_name" => "Ada", pets: [{ kind: :cat }, true, nil], last_name: "Byron" })
  end

  def test_texts_are_sent_as_utf8_whatever_they_were
    assert_equal '{"a":"é","b":"é","c":"\u0000\""}',
                 sent({ a: "\xE9".dup.force_encoding("ISO-8859-1"), b: "é".b, c: "\0\"" })
  end

  def test_what_json_cannot_hold_is_refused_without_quoting_it
    secret = "Byron"
    cyclic = []
    cyclic << cyclic
    [Float::NAN, BigDecimal("Infinity"), Time.at(0), Struct.new(:name).new(secret), "#{secret}\xFF",
     "#{secret}\xFF".dup.force_encoding("US-ASCII"), cyclic].each do |value|
      error = assert_raises(Leads::Misconfigured) { sent({ value: value }) }
      assert_nil error.cause
      refute_includes error.full_message, secret
    end
  end

  def test_a_lead_is_a_frozen_value
    lead = Leads::Lead.new(first_name: "Ada")
    assert_equal "Ada", lead.first_name
    assert_nil lead.cost
    assert_equal Leads::Lead.new(first_name: "Ada"), lead
    assert_equal 1, [lead, Leads::Lead.new(first_name: "Ada")].uniq.size
    assert_predicate lead, :frozen?
    assert_raises(FrozenError) { lead.to_h[:first_name] = "Eve" }
  end

  def test_an_idempotency_key_is_made_of_two_parts
    assert_equal "acme:42", Leads.idempotency_key("acme", 42)
    ["", " ", "\n", nil].each { |blank| assert_raises(Leads::Misconfigured) { Leads.idempotency_key("acme", blank) } }
    ["é", "a" * 196, "\xFF"].each { |id| assert_raises(Leads::Misconfigured) { Leads.idempotency_key("acme", id) } }
    assert_equal 200, Leads.idempotency_key("acme", "a" * 195).length
  end

  private

  def sent(lead)
    service = service { acknowledge }
    post(client(service), lead)
    service.requests.pop.body.force_encoding("UTF-8")
  end
end
