# frozen_string_literal: true

require "leads"
require "minitest/autorun"
require "openssl"
require "socket"
require "tempfile"
require "time"

KEY = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"
LEAD = { first_name: "Ada", last_name: "Byron", phone: "555 010 0199" }.freeze
ACKNOWLEDGED = '{"event_id":"e1","status":"accepted","received_at":"2026-11-22T10:00:00Z","source":"acme","flags":[]}'
VOCABULARY = '{"project_area":[{"area":"roof","status":"confirmed"}],"project_service":["repair"],"required":["phone"]}'

# A server on 127.0.0.1 that does for each request what the test says. The block is given the request, and gives the
# bytes of the answer; nil, and it closes the connection.
class Service
  Request = Struct.new(:line, :headers, :body, :socket, :connection, keyword_init: true)

  attr_reader :requests, :connections

  def initialize(tls, answer)
    @listener = TCPServer.new("127.0.0.1", 0)
    @tls = tls
    @answer = answer
    @requests = Queue.new
    @connections = 0
    @threads = [Thread.new { serve }]
  end

  def url
    "#{@tls ? "https" : "http"}://127.0.0.1:#{port}"
  end

  def port
    @listener.local_address.ip_port
  end

  def stop
    @listener.close
    @threads.each(&:kill)
  end

  private

  def serve
    loop do
      socket = @listener.accept
      number = @connections += 1
      @threads << Thread.new { talk(socket, number) }
    end
  rescue IOError
    nil
  end

  def talk(socket, number)
    socket = secure(socket) if @tls
    while (request = read(socket, number))
      @requests << request
      answer = @answer.call(request) or break
      socket.write(answer)
    end
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil # the client hung up, as many tests have it do
  ensure
    socket.close
  end

  def secure(socket)
    OpenSSL::SSL::SSLSocket.new(socket, @tls).tap { |tls| tls.sync_close = true }.accept
  end

  def read(socket, number)
    line = socket.gets or return
    headers = {}
    while (field = socket.gets.to_s.chomp) != ""
      name, value = field.split(": ", 2)
      headers[name.downcase] = value
    end
    body = socket.read(headers.fetch("content-length", 0).to_i)
    Request.new(line: line.chomp, headers: headers, body: body, socket: socket, connection: number)
  end
end

# A clock that stands still but for what is slept.
class StandingClock
  attr_accessor :monotonic
  attr_reader :slept

  def initialize
    @monotonic = 0.0
    @slept = []
  end

  def now
    Time.at(1_000_000_000) + @monotonic
  end

  def sleep(seconds, _cancellation)
    @slept << seconds
    @monotonic += seconds
  end
end

# What the tests share.
module Support
  def teardown
    @services&.each(&:stop)
    @clients&.each(&:close)
  end

  # Starts a server; see Service.
  def service(tls: nil, &answer)
    Service.new(tls, answer).tap { |service| (@services ||= []) << service }
  end

  # A client that draws no jitter and, unless told otherwise, does not sleep.
  def client(service, **options)
    options = { api_key: KEY, sleep: ->(*) {}, random: -> { 1.0 }, **options }
    Leads::Client.new(base_url: service.is_a?(String) ? service : service.url, **options)
                 .tap { |client| (@clients ||= []) << client }
  end

  def post(client, lead = LEAD, **options)
    client.post_lead(lead, idempotency_key: "acme:1", **options)
  end

  def answer(status, body = "", **headers)
    fields = headers.map { |name, value| "#{name.to_s.tr("_", "-")}: #{value}\r\n" }.join
    "HTTP/1.1 #{status} Whatever\r\nContent-Length: #{body.bytesize}\r\n#{fields}\r\n#{body}"
  end

  def acknowledge
    answer(202, ACKNOWLEDGED)
  end

  def with_env(variables)
    before = variables.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(variables)
    yield
  ensure
    ENV.update(before)
  end

  # A server's TLS context for 127.0.0.1 and other names, and a store that trusts it.
  def certified(*names, of: ["IP:127.0.0.1"])
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = certificate(key, [*of, *names])
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(certificate, key)
    [context, OpenSSL::X509::Store.new.add_cert(certificate), certificate]
  end

  private

  def certificate(key, names)
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.version = 2
      certificate.serial = 1
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=leads test")
      certificate.public_key = key
      certificate.not_before = Time.now - 3600
      certificate.not_after = Time.now + 3600
      extensions = OpenSSL::X509::ExtensionFactory.new(certificate, certificate)
      certificate.add_extension(extensions.create_extension("basicConstraints", "CA:TRUE", true))
      certificate.add_extension(extensions.create_extension("subjectAltName", names.join(",")))
      certificate.sign(key, "SHA256")
    end
  end
end
