-- Acknowledges an entry of a running job if another entry of the same job is pending: that one belongs to the running
-- attempt and brings the job back if its holder dies. Deciding and acknowledging in one script leaves at least one of them.
--
-- KEYS[1..4], ARGV[1]  as in place.lua, which comes first
-- ARGV[2]  job id
-- ARGV[3]  level of the entry
-- ARGV[4]  id of the entry
-- ARGV[5]  number of pending entries to search, per level, if the newest entry of the job is not another one
-- Answer   1 if it was acknowledged, otherwise 0
local job, level, id, search = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local function is_job(entry)
  if not entry then return false end
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'job_id' then return entry[2][i + 1] == job end
  end
  return false
end

local function find_other()
  local state, at, newest = place(job)
  if (state == 'pending' or state == 'trimmed') and not (at == level and newest == id) then return at, newest end
  for other_level = 1, 3 do
    if search == 0 then return nil end
    for _, one in ipairs(redis.pcall('XPENDING', KEYS[other_level], group, '-', '+', search)) do
      local other = one[1]
      local is_same = other_level == level and other == id
      if not is_same and is_job(redis.call('XRANGE', KEYS[other_level], other, other)[1]) then return other_level, other end
    end
  end
  return nil
end

local other_level, other = find_other()
if not other then return 0 end
redis.call('XACK', KEYS[level], group, id)
redis.call('HSET', places, job, other_level .. ' ' .. other)
return 1
