# frozen_string_literal: true

require_relative "support"

# Whom the client trusts, and how it gets there.
class TlsTest < Minitest::Test
  include Support

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

  def test_a_certificate_of_another_address_is_not_trusted
    context, store = certified("IP:127.0.0.2", of: [])
    service = service(tls: context) { acknowledge }
    assert_untrusted(service, cert_store: store)
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
      socket.each_line.find { |line| line == "\r\n" }
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

  def assert_untrusted(service, **options)
    error = assert_raises(Leads::Unavailable) { post(client(service, tries: 1, **options)) }
    refute_predicate error, :unknown_outcome?
    assert_includes error.message, "certificate not verified"
    assert_predicate service.requests.tap { |requests| requests.clear unless options[:cert_store] }, :empty?
  end

  def tunnel(client, port, asked)
    asked << client.each_line.take_while { |line| line != "\r\n" }
    server = TCPSocket.new("127.0.0.1", port)
    client.write("HTTP/1.1 200 Go\r\n\r\n")
    back = Thread.new { IO.copy_stream(server, client) }
    IO.copy_stream(client, server)
    back.kill
  rescue SystemCallError, IOError
    nil
  end
end
