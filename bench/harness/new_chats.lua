-- wrk: chat bodies of 2,400 bytes under one of four system prompts of 1,000. Environment: MODEL, and
-- FRESH, the share of requests in percent whose own text has never been sent before; the others go
-- round 64 conversations.
local parts = {}
local fresh = tonumber(os.getenv("FRESH"))
local sent = 0
local unique = os.time() % 100000 * 10000

function init()
  for system = 1, 4 do
    local rule = ("Rule %d: answer shortly, cite the file and the line, never invent an API. "):format(system)
    local head = '{"model":"' .. os.getenv("MODEL") .. '","messages":[{"role":"system","content":"'
      .. rule:rep(16):sub(1, 1000) .. '"},{"role":"user","content":"Question '
    local tail = '"}],"max_tokens":16}'
    local words = {}
    for i = 0, 200 do
      words[#words + 1] = ("word%d of item%d, "):format((system * 31 + i * 17) % 997, i)
    end
    parts[system] = { head, table.concat(words):sub(1, 2390 - #head - #tail) .. tail }
  end
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  sent = sent + 1
  local number = sent % 64
  if sent % 100 < fresh then
    unique = unique + 1
    number = unique
  end
  local part = parts[sent % 4 + 1]
  return wrk.format("POST", "/v1/chat/completions", nil, part[1] .. ("%010d"):format(number) .. part[2])
end

function done(summary, latency)
  local errors = summary.errors
  io.write(("JSON {\"right\":%d,\"wrong\":%d}\n"):format(summary.requests - errors.status,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
