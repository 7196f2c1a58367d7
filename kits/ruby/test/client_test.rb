# frozen_string_literal: true

require_relative "support"
require "psych"

# What the client is to its caller.
class ClientTest < Minitest::Test
  include Support

  def test_a_post_gives_a_frozen_acknowledgement_that_can_be_matched
    acknowledgement = post(client(service { acknowledge }), request_id: "r-1")
    case acknowledgement
    in { status: "accepted", event_id:, tries: 1, request_id: "r-1" }
      assert_equal "e1", event_id
    end
    assert_predicate acknowledgement, :accepted?
    refute_predicate acknowledgement, :duplicate?
    assert_predicate acknowledgement, :frozen?
    assert acknowledgement.to_h.values.all?(&:frozen?)
  end

  def test_key_and_address_come_from_the_environment
    service = service { acknowledge }
    with_env("LEADS_API_KEY" => KEY, "LEADS_BASE_URL" => "#{service.url}/leads/") do
      Leads::Client.new.post_lead(LEAD, idempotency_key: "acme:1")
    end
    request = service.requests.pop
    assert_equal "POST /leads/v1/intake HTTP/1.1", request.line
    assert_equal KEY, request.headers["x-api-key"]
  end

  def test_without_key_or_address_the_message_says_where_one_may_be_given
    with_env("LEADS_API_KEY" => nil, "LEADS_BASE_URL" => "") do
      error = assert_raises(Leads::Misconfigured) { Leads::Client.new }
      assert_includes error.message, "LEADS_API_KEY"
      error = assert_raises(Leads::Misconfigured) { Leads::Client.new(api_key: KEY) }
      assert_includes error.message, "LEADS_BASE_URL"
    end
  end

  def test_a_client_opens_nothing_before_its_first_call
    service = service { acknowledge }
    client(service)
    assert_equal 0, service.connections
  end

  def test_options_that_cannot_be_are_refused_at_once
    [
      { tries: 0 }, { tries: 1.5 }, { try_timeout: 0 }, { try_timeout: "20" }, { deadline: -1 },
      { deadline: Float::NAN }, { observer: 1 }, { clock: 1 }, { sleep: 1 }, { random: 1 }, { api_key: 1 },
      { base_url: "ftp://a.example" }, { base_url: "https://a.example:99999" }, { base_url: "https:///v1" }
    ].each do |option|
      assert_raises(Leads::Misconfigured, option.inspect) do
        Leads::Client.new(**{ api_key: KEY, base_url: "https://a.example" }.merge(option))
      end
    end
  end

  def test_arguments_of_a_call_that_cannot_be_are_refused_before_anything_is_sent
    service = service { acknowledge }
    client = client(service)
    [{ deadline: 0 }, { cancellation: Object.new }, { request_id: "" }, { request_id: 1 }].each do |option|
      error = assert_raises(Leads::Misconfigured, option.inspect) { post(client, **option) }
      assert_equal [0, nil, nil], [error.tries, error.request_id, error.status]
    end
    assert_raises(Leads::Misconfigured) { post(client, "a text") }
    assert_equal 0, service.connections
  end

  def test_a_uri_serves_as_the_address
    assert_equal "#<Leads::Client https://a.example/leads>",
                 client("x", base_url: URI("https://a.example/leads/")).inspect
  end

  def test_many_threads_share_a_client_and_no_answer_goes_astray
    service = service { |request| answer(202, ACKNOWLEDGED.sub("e1", request.headers["idempotency-key"])) }
    client = client(service)
    threads = Array.new(8) do |thread|
      Thread.new do
        Array.new(25) do |post|
          key = Leads.idempotency_key(thread, post)
          client.post_lead(LEAD, idempotency_key: key).event_id == key
        end
      end
    end
    assert threads.flat_map(&:value).all?
    assert_operator service.connections, :<=, 8
    assert_equal 200, service.requests.size
  end

  def test_a_forked_process_opens_connections_of_its_own
    service = service { |request| answer(202, ACKNOWLEDGED.sub("e1", "on-#{request.connection}")) }
    client = client(service)
    assert_equal "on-1", post(client).event_id
    reader, writer = IO.pipe
    process = fork do
      writer.write(post(client).event_id)
    ensure
      exit!
    end
    Process.wait(process)
    writer.close
    assert_equal "on-2", reader.read
    assert_equal "on-1", post(client).event_id, "the parent's connection has to live on"
  end

  def test_a_closed_client_can_be_used_again
    service = service { acknowledge }
    client = client(service)
    post(client)
    client.close
    post(client)
    assert_equal 2, service.connections
  end

  def test_a_key_check_says_whether_the_service_knows_the_key
    answers = [answer(401, '{"error":"unauthorized"}'), answer(422, '{"error":"validation_failed"}')]
    client = client(service { answers.pop })
    assert_predicate client.check_key, :valid?
    assert_equal :invalid, client.check_key.verdict
  end

  def test_the_vocabulary_is_kept_for_its_time_and_then_asked_for_with_its_etag
    clock = StandingClock.new
    service = service do |request|
      next answer(304, Cache_Control: "max-age=50") if request.headers["if-none-match"]

      answer(200, VOCABULARY, Cache_Control: "public, max-age=300", ETag: '"v1"')
    end
    client = client(service, clock: clock)
    first = client.vocabulary
    assert_equal ["roof"], first.areas.map(&:area)
    [299.0, 301.0, 350.0, 352.0].each do |time|
      clock.monotonic = time
      assert_same first, client.vocabulary
    end
    assert_equal [nil, '"v1"', '"v1"'], Array.new(3) { service.requests.pop.headers["if-none-match"] }
    assert_predicate service.requests, :empty?
  end

  def test_an_etag_is_sent_back_only_where_it_has_the_form_of_one
    sound = ['"v1"', 'W/"v1"', '""', "\"\xE9\"".b]
    unsound = ["\"a\x01b\"", "\"a\tb\"", "\"a\x7Fb\"", '"a b"', '"a"b"', "v1", 'w/"v1"', '"v1', ""]
    (sound + unsound).each do |etag|
      service = service { answer(200, VOCABULARY, Cache_Control: "max-age=0", ETag: etag) }
      client = client(service)
      2.times { client.vocabulary }
      sent = Array.new(2) { service.requests.pop.headers["if-none-match"]&.b }
      assert_equal [nil, (etag if sound.include?(etag))], sent, etag.inspect
    end
  end

  def test_an_etag_stays_when_a_renewal_has_none_of_its_form
    answers = [answer(304, ETag: "\"\x01\""), answer(304, ETag: "\"\x01\""),
               answer(200, VOCABULARY, Cache_Control: "max-age=0", ETag: '"v1"')]
    service = service { answers.pop }
    client = client(service)
    assert_equal 1, Array.new(3) { client.vocabulary }.uniq(&:object_id).size
    assert_equal [nil, '"v1"', '"v1"'], Array.new(3) { service.requests.pop.headers["if-none-match"] }
  end

  def test_no_string_form_shows_the_key_or_the_lead
    client = client(service { acknowledge })
    post(client)
    lead = Leads::Lead.new(**LEAD)
    texts = [client.inspect, client.to_s, *capture_io { pp client, lead },
             Psych.dump(client.instance_variable_get(:@api_key)), JSON.generate(client),
             lead.inspect, lead.to_s, JSON.generate(lead), deep(client)]
    texts.each do |text|
      refute_includes text, KEY
      refute_includes text, "Byron"
    end
    assert_raises(TypeError) { Marshal.dump(client) }
  end

  def test_the_readme_shows_the_example_as_it_runs
    example, readme = %w[examples/ten_lines.rb README.md].map { |file| File.read(File.join(__dir__, "..", file)) }
    assert_includes readme, "```ruby\n#{example.sub(/\A# frozen.*\n\n/, "")}```\n"
  end

  private

  # What a tool sees that follows the instance variables of whatever it meets.
  def deep(object, seen = {}.compare_by_identity)
    return "" if seen[object]

    seen[object] = true
    parts = object.is_a?(Enumerable) && !object.is_a?(IO) ? object.to_a : []
    parts += object.instance_variables.map { |name| object.instance_variable_get(name) }
    [object.inspect, *parts.map { |part| deep(part, seen) }].join("\n")
  end
end
