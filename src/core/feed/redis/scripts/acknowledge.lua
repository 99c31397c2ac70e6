-- Acknowledges entries of one stream and deletes their places, except of jobs that have a newer entry.
--
-- KEYS[1]  stream
-- KEYS[2]  hash of places: job id → level and id of its newest entry
-- ARGV[1]  consumer group
-- ARGV[2]  level of the stream
-- ARGV[3]  'entry id, job id' per line
-- Answer   none
local ids, jobs = {}, {}
for id, job in string.gmatch(ARGV[3], '(%S+) (%S*)\n') do
  ids[#ids + 1] = id
  jobs[#jobs + 1] = job
end
redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
local known, over = redis.call('HMGET', KEYS[2], unpack(jobs)), {}
for i = 1, #jobs do
  if known[i] == ARGV[2] .. ' ' .. ids[i] then over[#over + 1] = jobs[i] end
end
if #over > 0 then redis.call('HDEL', KEYS[2], unpack(over)) end
