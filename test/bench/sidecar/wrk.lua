-- Sends one request again and again: wrk -s wrk.lua URL -- METHOD KEY BODY_BYTES
function init(args)
  wrk.method = args[1]
  wrk.headers["Authorization"] = "Bearer " .. args[2]
  local bytes = tonumber(args[3])
  if bytes > 0 then wrk.body = string.rep("x", bytes) end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests":%d,"us":%d,"p50Us":%d,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, latency:percentile(50), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
