-- Reads new entries: of each level its share, then what the others left over, highest level first. So exactly as many
-- entries are read as there are free slots, and no level starves.
--
-- KEYS[1..3]  streams of a kind, highest priority first
-- ARGV[1]     consumer group
-- ARGV[2]     consumer
-- ARGV[3..5]  share of each level
-- Answer      {'level, id, job id and priority of an entry per line, and a question mark if its payload is not in the usual form',
--             {{level, entry as Redis returns it}, …}}; the second list has the entries that are not in the usual form. An
--             entry as Redis returns it is ten values: parsing thousands of those would be most of the cost of reading.
local usual, others, missing, dry = {}, {}, 0, {}
local payload_begins = '{"schema_version":1,"task_data_b64":"'

local function is_usual(fields)
  return #fields == 8 and fields[1] == 'job_id' and fields[3] == 'enqueue_ts' and fields[5] == 'payload_ref'
    and fields[7] == 'priority' and fields[4] ~= '' and fields[6] == 'task:payload:' .. fields[2]
    and string.find(fields[2], '^%x[%x-]+$') and string.find(fields[8], '^-?%d+$')
end

local function read(level, count)
  if count <= 0 then return 0 end
  local reply = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', count, 'STREAMS', KEYS[level], '>')
  local found = reply and reply[1][2] or {}
  for _, entry in ipairs(found) do
    local fields = entry[2]
    if fields and is_usual(fields) then
      local is_kept = redis.pcall('GETRANGE', fields[6], 0, #payload_begins - 1) == payload_begins
      usual[#usual + 1] = level .. ' ' .. entry[1] .. ' ' .. fields[2] .. ' ' .. fields[8] .. (is_kept and '' or ' ?')
    else
      others[#others + 1] = {level, entry}
    end
  end
  dry[level] = #found < count
  return #found
end

for level = 1, 3 do
  local share = tonumber(ARGV[level + 2])
  missing = missing + share - read(level, share)
end
for level = 1, 3 do
  if not dry[level] then missing = missing - read(level, missing) end
end
return {table.concat(usual, '\n'), others}
