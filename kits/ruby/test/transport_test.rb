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
      "HTTP/1.1 401 A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"
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
    error = assert_raises(Leads::Unavailable) { post(client(service, tries: 1, try_timeout: 0.2)) }
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

  def test_what_comes_unasked_is_not_taken_for_the_next_answer
    answers = [acknowledge, acknowledge + answer(401)]
    service = service { answers.pop }
    client = client(service)
    2.times { assert_predicate post(client), :accepted? }
    assert_equal 2, service.connections
  end

  def test_connections_are_kept_over_tls_and_the_store_says_who_is_trusted
    context, store = certified
    service = service(tls: context) { acknowledge }
    client = client(service, cert_store: store)
    3.times { post(client) }
    assert_equal 1, service.connections
    assert_untrusted(service)
  end

  def test_a_certificate_of_another_name_is_not_trusted
    context, store = certified
    service = service(tls: context) { acknowledge }
    assert_untrusted(service, base_url: service.url.sub("127.0.0.1", "localhost"), cert_store: store)
  end

  def test_further_authorities_come_from_the_environment
    context, _, certificate = certified
    service = service(tls: context) { acknowledge }
    Tempfile.create("authority") do |file|
      file.write(certificate.to_pem)
      file.flush
      with_env("SSL_CERT_FILE" => file.path) { assert_predicate post(client(service)), :accepted? }
    end
  end

  # The address is one that is nobody's, and is not connected to: the proxy leads elsewhere.
  def test_a_proxy_of_the_environment_is_used_with_its_password
    context, store = certified("IP:192.0.2.1")
    service = service(tls: context) { acknowledge }
    asked = Queue.new
    proxy = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { tunnel(proxy.accept, service.port, asked) }
    with_env("https_proxy" => "http://me:p%40ss@127.0.0.1:#{proxy.local_address.ip_port}", "no_proxy" => nil) do
      assert_predicate post(client("https://192.0.2.1", cert_store: store)), :accepted?
    end
    head = asked.pop
    assert_equal "CONNECT 192.0.2.1:443 HTTP/1.1\r\n", head.first
    assert_includes head, "Proxy-Authorization: Basic #{["me:p@ss"].pack("m0")}\r\n"
    refute_includes head.join, KEY
  ensure
    thread&.kill
    proxy.close
  end

  def test_a_proxy_that_refuses_is_a_try_that_is_spent
    proxy = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      socket = proxy.accept
      nil until socket.gets == "\r\n"
      socket.write("HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
    end
    with_env("https_proxy" => "http://127.0.0.1:#{proxy.local_address.ip_port}", "no_proxy" => nil) do
      error = assert_raises(Leads::Unavailable) { post(client("https://192.0.2.1", tries: 1)) }
      assert_equal [nil, false], [error.status, error.unknown_outcome?]
    end
  ensure
    thread.join
    proxy.close
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

  def assert_untrusted(service, **options)
    error = assert_raises(Leads::Unavailable) { post(client(service, tries: 1, **options)) }
    refute_predicate error, :unknown_outcome?
    assert_includes error.message, "certificate not verified"
    assert_predicate service.requests.tap { |requests| requests.clear unless options[:cert_store] }, :empty?
  end

  def tunnel(client, port, asked)
    head = []
    head << client.gets until head.last == "\r\n"
    asked << head
    server = TCPSocket.new("127.0.0.1", port)
    client.write("HTTP/1.1 200 Go\r\n\r\n")
    back = Thread.new { IO.copy_stream(server, client) }
    IO.copy_stream(client, server)
    back.kill
  rescue SystemCallError, IOError
    nil
  end
end
