# frozen_string_literal: true

require_relative "support"

# The bytes below the calls: what Net::HTTP by itself would take, hold or wait for.
class TransportTest < Minitest::Test
  include Support

  def test_an_answer_that_is_cut_short_is_none
    [
      "HTTP/1.1 202 Accepted\r\nContent-Length: #{ACKNOWLEDGED.bytesize + 1}\r\n\r\n#{ACKNOWLEDGED}",
      "HTTP/1.1 401 Unauthorized\r\n", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n",
      "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n"
    ].each { |bytes| assert_lost(bytes) }
  end

  def test_what_is_not_http_is_no_answer
    [
      "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 401 A\r\nno field\r\n\r\n",
      "HTTP/1.1 401 A\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 401 A\r\nX: a\rb\r\n\r\n",
      "HTTP/1.1 401 A\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 401 A\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 401 A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc0\r\n\r\n"
    ].each { |bytes| assert_lost(bytes) }
  end

  def test_what_has_no_end_is_held_to_a_bound
    [
      "HTTP/1.1 401 #{"a" * 70_000}", "HTTP/1.1 401 A\r\n#{"X: a\r\n" * 20_000}\r\n",
      "HTTP/1.1 401 A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n#{"X: a\r\n" * 20_000}\r\n"
    ].each { |bytes| assert_lost(bytes) }
  end

  def test_a_body_without_end_is_refused_and_its_connection_dropped
    endless = lambda do |request|
      request.socket.write("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n")
      loop { request.socket.write("10000\r\n#{"a" * 65_536}\r\n") }
    end
    service = service(&endless)
    client = client(service)
    2.times do
      error = assert_raises(Leads::Refused) { post(client) }
      assert_equal [503, nil, 1], [error.status, error.code, error.tries]
    end
    assert_equal 2, service.connections
  end

  def test_an_answer_nested_deeper_than_a_stack_is_refused_like_any_other
    error = assert_raises(Leads::Refused) { post(client(service { answer(400, "[" * 500_000) })) }
    assert_nil error.code
  end

  def test_an_answer_that_drips_ends_with_the_time_out_of_the_try
    service = service do |request|
      request.socket.write("HTTP/1.1 202 Accepted\r\nX: ")
      request.socket.write("a") until request.socket.wait_readable(0.02) # until the client has hung up
    end
    error = assert_raises(Leads::Unavailable) { post(client(service, tries: 1, try_timeout: 1)) }
    assert_predicate error, :unknown_outcome?
    assert_includes error.message, "no answer in time"
  end

  def test_a_large_lead_that_is_refused_before_it_is_read_is_refused
    listener = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = listener.accept
      socket.readpartial(1000)
      socket.write(answer(413, '{"error":"body_too_large"}'))
      socket # kept open, and not read
    end
    error = assert_raises(Leads::Refused) do
      post(client("http://127.0.0.1:#{listener.local_address.ip_port}"), { project_details: "a" * 20_000_000 })
    end
    assert_equal [413, "body_too_large", false], [error.status, error.code, error.unknown_outcome?]
  ensure
    thread.value.close
    listener.close
  end

  def test_a_kept_connection_that_was_closed_costs_no_try
    listener = TCPServer.new("127.0.0.1", 0)
    closed = Queue.new
    thread = Thread.new do
      2.times do
        socket = listener.accept
        socket.readpartial(10_000)
        socket.write(acknowledge)
        # Closes once the client's kernel has the end of the connection: it may be late.
        socket.setsockopt(Socket::Option.linger(true, 10))
        socket.close
        closed << true
      end
    end
    client = client("http://127.0.0.1:#{listener.local_address.ip_port}")
    2.times do
      assert_equal 1, post(client).tries
      closed.pop
    end
    thread.join
  ensure
    listener.close
  end

  def test_net_http_repeats_nothing_by_itself
    service = service { nil }
    assert_raises(Leads::Unavailable) { client(service, tries: 1).vocabulary }
    assert_equal 1, service.requests.size
  end

  def test_what_comes_unasked_is_not_taken_for_the_next_answer
    answers = [acknowledge, acknowledge + answer(401)]
    service = service { answers.pop }
    client = client(service)
    2.times { assert_predicate post(client), :accepted? }
    assert_equal 2, service.connections
  end

  private

  def assert_lost(bytes)
    service = service do |request|
      request.socket.write(bytes)
      nil
    end
    error = assert_raises(Leads::Unavailable, bytes[0, 100].inspect) { post(client(service, tries: 1)) }
    assert_equal [nil, nil, true], [error.status, error.code, error.unknown_outcome?], bytes[0, 100].inspect
  end
end
