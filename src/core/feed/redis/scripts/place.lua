-- Where a job's entry is. Part of other scripts, before their own text: looking and acting in one script leaves no moment in
-- which the answer could become wrong.
--
-- KEYS[1..3]  streams of a kind, highest priority first
-- KEYS[4]     hash of places: job id → level and id of its newest entry
-- ARGV[1]     consumer group
local places, group = KEYS[4], ARGV[1]

local delivered = {}
local function last_delivered(level)
  if delivered[level] == nil then
    delivered[level] = '0-0'
    for _, one in ipairs(redis.pcall('XINFO', 'GROUPS', KEYS[level])) do
      local facts = {}
      for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
      if facts['name'] == group then delivered[level] = facts['last-delivered-id'] end
    end
  end
  return delivered[level]
end

local function later(a, b)
  local a_ms, a_count = string.match(a, '(%d+)-(%d+)')
  local b_ms, b_count = string.match(b, '(%d+)-(%d+)')
  if a_ms ~= b_ms then return tonumber(a_ms) > tonumber(b_ms) end
  return tonumber(a_count) > tonumber(b_count)
end

-- waiting: no consumer has read it. pending: read and not acknowledged. trimmed: pending, but no longer in the stream.
-- gone: no entry. Also returns its level and id.
local function place(job)
  local known = redis.call('HGET', places, job)
  if not known then return 'gone' end
  local level, id = string.match(known, '^(%d) (.+)$')
  level = tonumber(level)
  local exists = #redis.call('XRANGE', KEYS[level], id, id) == 1
  if exists and later(id, last_delivered(level)) then return 'waiting', level, id end
  if #redis.pcall('XPENDING', KEYS[level], group, id, id, 1) == 1 then
    return exists and 'pending' or 'trimmed', level, id
  end
  return 'gone', level, id
end
