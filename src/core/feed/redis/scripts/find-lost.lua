-- Tells which jobs have no entry that leads to them, or wait in a stream below their level.
--
-- KEYS[1..4], ARGV[1]  as in place.lua, which comes first
-- ARGV[2..]  job id and level of each job in turn
-- Answer     1 or 0 for each job
local lost = {}
for i = 2, #ARGV, 2 do
  local state, at = place(ARGV[i])
  local waits_too_low = state == 'waiting' and at > tonumber(ARGV[i + 1])
  lost[#lost + 1] = (state == 'gone' or state == 'trimmed' or waits_too_low) and 1 or 0
end
return lost
