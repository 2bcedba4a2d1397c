-- Shows what a key of take.lua holds, for a person: one line a bucket. Writes nothing.
--
-- KEYS[1]  the key
-- Returns  lines: name, tokens missing when it was last charged, when that was (seconds since 1970), when it is full, granted since it was full, epoch
local value = redis.call('GET', KEYS[1])
if not value then return { 'no such key: its buckets are full' } end
if string.byte(value) ~= 1 then return { 'written by another version' } end
local lines, position = {}, 2
while position <= #value do
  local name, deficit, at, full_after_ms, granted, epoch, rule
  name, deficit, at, full_after_ms, granted, epoch, rule, position = struct.unpack('>Bc0ddI4I4HH', value, position)
  lines[#lines + 1] = string.format('%s missing=%.9f at=%.6f full_at=%.3f granted=%d epoch=%d',
    string.gsub(name, '%z', 'request '), deficit / 1e9, at / 1e6, at / 1e6 + full_after_ms / 1000, granted, epoch)
end
return lines
