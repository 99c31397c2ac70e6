-- Deletes what nothing else deletes: consumers of processes that are gone, and places whose entry no longer exists (the
-- job was cancelled, and its entry trimmed).
--
-- KEYS[1..3]  streams of a kind
-- KEYS[4]     hash of places
-- ARGV[1]     consumer group
-- ARGV[2]     cursor in the hash of places
-- ARGV[3]     number of places to look at
-- ARGV[4]     idle time in milliseconds after which a consumer with nothing pending is deleted
-- Answer      the next cursor
local group, cursor, count, idle_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
for level = 1, 3 do
  for _, one in ipairs(redis.pcall('XINFO', 'CONSUMERS', KEYS[level], group)) do
    local facts = {}
    for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
    if facts['pending'] == 0 and facts['idle'] >= idle_ms then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[level], group, facts['name'])
    end
  end
end
local reply = redis.call('HSCAN', KEYS[4], cursor, 'COUNT', count)
for i = 1, #reply[2], 2 do
  local level, id = string.match(reply[2][i + 1], '^(%d) (.+)$')
  local exists = level == nil or #redis.call('XRANGE', KEYS[tonumber(level)], id, id) == 1
  if not exists then redis.call('HDEL', KEYS[4], reply[2][i]) end
end
return reply[1]
