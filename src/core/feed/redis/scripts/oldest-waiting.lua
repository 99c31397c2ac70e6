-- The age of the oldest entry that no consumer has read.
--
-- KEYS[1..3]  streams of a kind
-- ARGV[1]     consumer group
-- Answer      milliseconds; 0: there is none
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = now
for level = 1, 3 do
  local from = '-'
  for _, one in ipairs(redis.pcall('XINFO', 'GROUPS', KEYS[level])) do
    local facts = {}
    for i = 1, #one, 2 do facts[one[i]] = one[i + 1] end
    if facts['name'] == ARGV[1] then from = '(' .. facts['last-delivered-id'] end
  end
  local first = redis.call('XRANGE', KEYS[level], from, '+', 'COUNT', 1)[1]
  if first then
    local at = tonumber(string.match(first[1], '^%d+'))
    if at < oldest then oldest = at end
  end
end
return now - oldest
