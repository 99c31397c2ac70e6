-- Moves jobs to a sorted set that a process of version 0.2 has announced in streams, and that no consumer has read. So processes of both
-- versions may run side by side. The streams are deleted an hour after the last entry came.
--
-- KEYS[1..3]  streams of a kind
-- KEYS[4]     hash of places
-- KEYS[5]     sorted set of job ids
-- ARGV[1]     consumer group
-- ARGV[2]     number of entries to move, per stream
-- ARGV[3]     milliseconds of waiting that are worth one level of priority
-- Answer      the number of entries that were moved from the longest stream
local group, count, level_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local kept_ms, most = 3600 * 1000, 0
local now = tonumber(redis.call('TIME')[1]) * 1000

local function facts_of(list)
  local facts = {}
  for i = 1, #list, 2 do facts[list[i]] = list[i + 1] end
  return facts
end

-- A version 7 UUID begins with its time.
local function time_of(job)
  if string.sub(job, 15, 15) ~= '7' then return now end
  return tonumber(string.sub(job, 1, 8) .. string.sub(job, 10, 13), 16) or now
end

local function move(key)
  redis.pcall('XGROUP', 'CREATE', key, group, '0')
  local reply = redis.call('XREADGROUP', 'GROUP', group, 'moved', 'COUNT', count, 'STREAMS', key, '>')
  local entries = reply and reply[1][2] or {}
  for _, entry in ipairs(entries) do
    local fields = facts_of(entry[2] or {})
    local job, priority = fields['job_id'], tonumber(fields['priority']) or 0
    if job then redis.call('ZADD', KEYS[5], 'NX', string.format('%.0f', time_of(job) - priority * level_ms), job) end
    redis.call('XACK', key, group, entry[1])
  end
  return #entries
end

for level = 1, 3 do
  local key = KEYS[level]
  if redis.call('EXISTS', key) == 1 then
    local moved = move(key)
    if moved > most then most = moved end
    local last = facts_of(redis.call('XINFO', 'STREAM', key))['last-generated-id']
    if tonumber(string.match(last, '^%d+')) < now - kept_ms then redis.call('DEL', key, KEYS[4]) end
  end
end
return most
