-- Counts the entries that no consumer has read, in the fullest of the streams.
--
-- KEYS[1..3]  streams of a kind
-- ARGV[1]     consumer group
-- Answer      the count; 0 with Redis 6.2, which does not know it
local most = 0
for level = 1, 3 do
  local waiting = redis.call('XLEN', KEYS[level])
  for _, one in ipairs(redis.pcall('XINFO', 'GROUPS', KEYS[level])) do
    local facts = {}
    for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
    if facts['name'] == ARGV[1] then waiting = facts['lag'] or 0 end
  end
  if waiting > most then most = waiting end
end
return most
