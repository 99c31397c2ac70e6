-- Takes the first jobs out of a sorted set. The mark tells an empty set from one that Redis has lost.
--
-- KEYS[1]  sorted set of job ids
-- KEYS[2]  mark
-- ARGV[1]  number of jobs
-- Answer   their ids, separated by spaces: one value, because parsing hundreds would take most of the time
if redis.call('EXISTS', KEYS[2]) == 0 then return redis.error_reply('NOMARK the ready jobs were lost') end
local jobs = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)
if #jobs > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #jobs - 1) end
return table.concat(jobs, ' ')
