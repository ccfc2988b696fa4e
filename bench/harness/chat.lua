-- wrk: cycles through chat bodies of 2,400 bytes that share a system prompt of 1,000.
-- Environment: CONVERSATIONS, MODEL, KEY.
local requests = {}
local sent = 0

local function body(conversation)
  local rule = "Answer shortly and precisely, cite the file and the line, never invent an API. "
  local system = rule:rep(13):sub(1, 1000)
  local head = '{"model":"' .. os.getenv("MODEL") .. '","messages":[{"role":"system","content":"'
    .. system .. '"},{"role":"user","content":"'
  local tail = '"}],"max_tokens":80,"temperature":0.7,"stream":false}'
  local words = { ("Conversation %d, question %d: "):format(conversation * 7919 % 1000, conversation) }
  for i = 0, 200 do
    words[#words + 1] = ("word%d of item%d, "):format((conversation * 31 + i * 17) % 997, i)
  end
  return head .. table.concat(words):sub(1, 2400 - #head - #tail) .. tail
end

function init()
  local headers = {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. os.getenv("KEY"),
  }
  for conversation = 1, tonumber(os.getenv("CONVERSATIONS")) do
    requests[conversation] = wrk.format("POST", "/v1/chat/completions", headers, body(conversation))
  end
end

function request()
  sent = sent + 1
  return requests[sent % #requests + 1]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(("JSON {\"right\":%d,\"wrong\":%d,\"seconds\":%.3f,\"latency_p50_us\":%.1f,\"latency_p99_us\":%.1f}\n")
    :format(summary.requests - errors.status,
      errors.status + errors.connect + errors.read + errors.write + errors.timeout,
      summary.duration / 1e6, latency:percentile(50), latency:percentile(99)))
end
