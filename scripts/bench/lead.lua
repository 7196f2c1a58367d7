-- Generates wrk's requests: each is a prepared lead with a unique Idempotency-Key.
-- Arguments after "--": the file of bodies (one per line), the file of API keys, a prefix unique to the run.

local heads, keys, tails, count, sent = {}, {}, {}, 0, 0
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  local named = table.concat({ "\r\nIdempotency-Key: provider:lead:", args[3], "-", thread_number, "-" })
  for key in io.lines(args[2]) do keys[#keys + 1] = key .. named end
  for body in io.lines(args[1]) do
    count = count + 1
    heads[count] = table.concat({
      "POST /v1/intake HTTP/1.1\r\nHost: ", wrk.host, ":", wrk.port,
      "\r\nUser-Agent: bench/1\r\nContent-Type: application/json\r\nContent-Length: ", #body,
      "\r\nX-API-Key: ",
    })
    tails[count] = "\r\n\r\n" .. body
  end
end

function request()
  sent = sent + 1
  local index = sent % count + 1
  return heads[index] .. keys[sent % #keys + 1] .. sent .. tails[index]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d,"processorUs":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), os.clock() * 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end
