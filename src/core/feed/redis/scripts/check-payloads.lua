-- Tells which payloads are missing or not readable.
--
-- KEYS    payloads
-- Answer  1 or 0 for each
local usual = '{"schema_version":1,"task_data_b64":"'
local invalid = {}

local function is_readable(key)
  if redis.pcall('GETRANGE', key, 0, #usual - 1) == usual then return true end
  local text = redis.pcall('GET', key)
  if type(text) ~= 'string' then return false end
  local is_json, payload = pcall(cjson.decode, text)
  return is_json and type(payload) == 'table' and payload['schema_version'] == 1 and type(payload['task_data_b64']) == 'string'
end

for i = 1, #KEYS do invalid[i] = is_readable(KEYS[i]) and 0 or 1 end
return invalid
