-- Announces jobs: stores each payload, then adds an entry to the stream of the job's level. A job whose entry still waits to
-- be read is not announced twice, unless it has moved up a level.
--
-- KEYS[1..4], ARGV[1]  as in place.lua, which comes first
-- ARGV[2]   length at which a stream is trimmed
-- ARGV[3]   seconds that a payload is kept
-- ARGV[4]   now, in milliseconds
-- ARGV[5]   '1': the jobs are new, so they cannot have an entry
-- ARGV[6]   'job id, level, priority, task in base64', separated by spaces, per line: one string for all jobs, and one for all
--           answers, because packing and unpacking values would take most of the time
-- Answer    {'entry ids, separated by spaces; a hyphen for each entry that Redis refused', {errors of the refused ones}}
local maxlen, ttl, now, is_new = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
local ids, errors, places_of = {}, {}, {}

local text, line = ARGV[6], 1
local function next_line()
  local job_end = string.find(text, ' ', line, true)
  if not job_end then return nil end
  local priority_end = string.find(text, ' ', job_end + 3, true)
  local line_end = string.find(text, '\n', priority_end + 1, true)
  local job = string.sub(text, line, job_end - 1)
  line = line_end + 1
  return job, tonumber(string.sub(text, job_end + 1, job_end + 1)), string.sub(text, job_end + 3, priority_end - 1),
    string.sub(text, priority_end + 1, line_end - 1)
end

local function add(job, level, priority, data)
  local ref = 'task:payload:' .. job
  redis.call('SET', ref, '{"schema_version":1,"task_data_b64":"' .. data ..
    '","encoding":"base64","content_type":"application/json"}', 'EX', ttl)
  local id = redis.pcall('XADD', KEYS[level], 'MAXLEN', '~', maxlen, '*',
    'job_id', job, 'enqueue_ts', now, 'payload_ref', ref, 'priority', priority)
  if type(id) == 'table' then
    redis.call('DEL', ref)
    return nil, id.err
  end
  places_of[#places_of + 1] = job
  places_of[#places_of + 1] = level .. ' ' .. id
  return id
end

for job, level, priority, data in next_line do
  local state, at, old = 'gone', nil, nil
  if not is_new then state, at, old = place(job) end
  local id, err = old, nil
  if state ~= 'waiting' or at > level then
    id, err = add(job, level, priority, data)
    if id and state == 'waiting' then redis.call('XDEL', KEYS[at], old) end
    if id and state == 'trimmed' then redis.call('XACK', KEYS[at], group, old) end
  end
  ids[#ids + 1] = id or '-'
  if err then errors[#errors + 1] = err end
end
if #places_of > 0 then
  -- A value of more than 64 bytes makes Redis store a real hash. Small hashes are lists that Redis walks for every job.
  redis.call('HSETNX', places, 'about', 'job id: level and id of its newest entry. This long value keeps it a real hash.')
  redis.call('HSET', places, unpack(places_of))
end
return {table.concat(ids, ' '), errors}
