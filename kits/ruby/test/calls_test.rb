# frozen_string_literal: true

require_relative "support"
require "timeout"

# Tries, waits, cancelling, and who hears of them.
class CallsTest < Minitest::Test
  include Support

  def test_clock_sleep_and_randomness_can_be_replaced
    clock = StandingClock.new
    client = client(service { answer(503) }, clock: clock, sleep: clock.method(:sleep), random: -> { 0.5 })
    error = assert_raises(Leads::Unavailable) { post(client) }
    assert_equal [0.75, 1.5, 3.0, 6.0], clock.slept
    assert_equal [503, 5, false], [error.status, error.tries, error.unknown_outcome?]
  end

  def test_a_retry_after_that_is_a_date_is_read_by_the_replaced_clock
    clock = StandingClock.new
    answers = [acknowledge, answer(503, "", Retry_After: (clock.now + 7).httpdate)]
    post(client(service { answers.pop }, clock: clock, sleep: clock.method(:sleep)))
    assert_equal [7.0], clock.slept
  end

  def test_with_one_try_nothing_is_repeated
    service = service { answer(503) }
    assert_raises(Leads::Unavailable) { post(client(service, tries: 1, sleep: ->(*) { flunk })) }
    assert_equal 1, service.requests.size
  end

  def test_each_try_has_the_same_bytes_idempotency_key_and_request_id
    service = service { answer(503) }
    assert_raises(Leads::Unavailable) { post(client(service)) }
    requests = Array.new(service.requests.size) { service.requests.pop }
    assert_equal 5, requests.size
    assert_equal 1, requests.map { |request| [request.line, request.headers, request.body] }.uniq.size
    assert_match(/\Aleads-ruby-[0-9A-Za-z]{16}\z/, requests.first.headers["x-request-id"])
  end

  def test_a_lead_that_is_changed_while_it_is_posted_is_sent_as_it_was
    lead = { first_name: +"Ada" }
    answers = [acknowledge, answer(503)]
    service = service { answers.pop }
    post(client(service, sleep: ->(*) { lead[:first_name] << "!" }), lead)
    assert_equal 1, Array.new(2) { service.requests.pop.body }.uniq.size
  end

  def test_the_observer_hears_of_tries_and_waits_and_of_no_content
    events = []
    answers = [acknowledge, answer(429, "", Retry_After: 2), answer(503)]
    post(client(service { answers.pop }, observer: events.method(:<<)), request_id: "r-1")
    seen = events.map do |event|
      case event
      in Leads::TryEvent[http_method:, status:, request_id: "r-1"] then [http_method, status]
      in Leads::WaitEvent[duration:, rate_limited:, request_id: "r-1"] then [duration, rate_limited]
      end
    end
    assert_equal [["POST", 503], [1.0, false], ["POST", 429], [2.5, true], ["POST", 202]], seen
    refute_match(/Byron|#{KEY}/, events.inspect)
    assert events.all?(&:frozen?)
  end

  def test_an_observer_that_raises_does_not_turn_a_lead_that_was_accepted_into_an_error
    client = client(service { acknowledge }, observer: ->(*) { raise "in the log" })
    _, warning = capture_io { assert_predicate post(client), :accepted? }
    assert_includes warning, "RuntimeError"
  end

  def test_cancelling_from_another_thread_ends_a_try_that_hangs
    service = service { Queue.new.pop }
    cancellation = Leads::Cancellation.new
    thread = Thread.new { assert_raises(Leads::Cancelled) { post(client(service), cancellation: cancellation) } }
    service.requests.pop
    cancellation.cancel!
    error = thread.value
    assert_predicate error, :unknown_outcome?
    assert_nil error.status
  end

  def test_cancelling_from_a_signal_handler_ends_a_wait
    cancellation = Leads::Cancellation.new
    before = trap("USR1") { cancellation.cancel! }
    waiting = Queue.new
    client = client(service { answer(503) }, sleep: lambda do |_, given|
      waiting << true
      assert given.wait(3600), "the wait should have ended by the signal"
    end)
    thread = Thread.new { assert_raises(Leads::Cancelled) { post(client, cancellation: cancellation) } }
    waiting.pop
    Process.kill("USR1", Process.pid)
    error = thread.value
    assert_equal [503, 1, false], [error.status, error.tries, error.unknown_outcome?]
  ensure
    trap("USR1", before)
  end

  def test_a_wait_that_is_really_slept_ends_by_its_cancellation
    cancellation = Leads::Cancellation.new
    observer = ->(event) { cancellation.cancel! if event.is_a?(Leads::WaitEvent) }
    client = client(service { answer(503, "", Retry_After: 100) }, sleep: nil, observer: observer)
    assert_raises(Leads::Cancelled) { post(client, cancellation: cancellation) }
  end

  def test_a_cancellation_that_was_cancelled_lets_nothing_be_sent
    service = service { acknowledge }
    cancellation = Leads::Cancellation.new
    2.times { cancellation.cancel! }
    error = assert_raises(Leads::Cancelled) { post(client(service), cancellation: cancellation) }
    assert_equal [0, nil], [error.tries, error.request_id]
    assert_equal 0, service.connections
  end

  def test_what_the_caller_raises_in_the_thread_passes_and_nothing_is_sent_again
    service = service { Queue.new.pop }
    mine = Class.new(StandardError)
    [mine, Interrupt, Timeout::Error].each do |raised|
      client = client(service)
      thread = Thread.new { assert_raises(raised) { post(client) } }
      service.requests.pop
      thread.raise(raised)
      thread.join
    end
    assert_predicate service.requests, :empty?
    assert_equal 3, service.connections
  end

  def test_a_time_out_around_a_call_ends_it
    service = service { Queue.new.pop }
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { post(client(service)) } }
  end

  def test_errors_tell_their_kind_and_what_to_mend
    body = '{"error":"validation_failed","fields":{"phone":"required","Byron":"required","city":"Byron"}}'
    error = assert_raises(Leads::InvalidLead) { post(client(service { answer(422, body) })) }
    assert_equal "The lead is not valid: phone is required", error.message
    assert_equal %w[required required Byron], error.fields.values
    assert_predicate error.fields, :frozen?
    assert_equal [:invalid_lead, 422, "validation_failed", 1], [error.kind, error.status, error.code, error.tries]
  end

  def test_members_that_are_not_known_may_be_nested_deeply
    [["{\"a\":", "1", "}"], ["[", "", "]"]].each do |open, middle, close|
      unknown = "#{open * 900}#{middle}#{close * 900}"
      service = service { answer(202, ACKNOWLEDGED.sub("{", "{\"tomorrow\":#{unknown},")) }
      assert_equal 1, post(client(service)).tries
      assert_equal 1, Fiber.new { post(client(service)).tries }.resume, "a fiber's stack is small"
    end
  end

  def test_an_answer_without_an_end_to_its_nesting_does_no_harm
    answers = [acknowledge, answer(202, "[" * 1_000_000), answer(202, "{\"a\":" * 200_000)]
    client = client(service { answers.pop || acknowledge })
    assert_equal 3, Fiber.new { post(client).tries }.resume
  end

  def test_no_error_holds_the_key_the_lead_or_what_a_stranger_said
    said = "<p>#{KEY} Byron</p>"
    [answer(200, said), answer(302, said, Location: "https://x.example/#{KEY}"), answer(400, said), answer(401, said),
     answer(422, said), "#{said}\r\n\r\n", "HTTP/1.1 200 OK\r\n#{said}\r\n\r\n",
     answer(400, %({"error":"#{KEY}"}))].each do |bytes|
      error = assert_raises(Leads::Error) { post(client(service { bytes })) }
      texts = [error.full_message, error.inspect, *error.instance_variables.map do |name|
        error.instance_variable_get(name).inspect
      end]
      refute_match(/Byron|#{KEY}/, texts.join)
      assert_nil error.cause
    end
  end
end
