-- Shows what a key of take.lua holds, for a person: one line a bucket. Writes nothing.
--
-- KEYS[1]  the key
-- Returns  lines: name, tokens missing when it was last charged, when that was (seconds since 1970), when it is full (format 2: at the
--          latest), granted since it was full, epoch. The head of take.lua describes both formats.
local value = redis.call('GET', KEYS[1])
if not value then return { 'no such key: its buckets are full' } end

local function entry_1(position)
  local name, deficit, at, full_after_ms, granted, epoch, rule
  name, deficit, at, full_after_ms, granted, epoch, rule, position = struct.unpack('>Bc0ddI4I4HH', value, position)
  return position, name, deficit, at, full_after_ms, granted, epoch
end

local function entry_2(position)
  local widths, full_after, time, rule, name, deficit, granted, epoch
  widths, full_after, time, rule, name, position = struct.unpack('>BBI6HBc0', value, position)
  local numbers = '>I' .. math.fmod(widths, 8) .. 'I' .. math.fmod(math.floor(widths / 8), 8) .. 'I' .. math.floor(widths / 64)
  deficit, granted, epoch, position = struct.unpack(numbers, value, position)
  if full_after >= 8 then
    full_after = math.ldexp(8 + math.fmod(full_after, 8), math.floor(full_after / 8) - 1)
  end
  -- The time is modulo 2^48: of those it can be, the nearest to now.
  local server = redis.call('TIME')
  local now = server[1] * 1000000 + server[2]
  local at = math.floor((now - time) / 2 ^ 48 + 0.5) * 2 ^ 48 + time
  return position, name, deficit, at, full_after, granted, epoch
end

local entry = ({ entry_1, entry_2 })[string.byte(value)]
if not entry then return { 'written by another version' } end
local lines, position = {}, 2
while position <= #value do
  local name, deficit, at, full_after_ms, granted, epoch
  position, name, deficit, at, full_after_ms, granted, epoch = entry(position)
  lines[#lines + 1] = string.format('%s missing=%.9f at=%.6f full_at=%.3f granted=%d epoch=%d',
    string.gsub(name, '%z', 'request '), deficit / 1e9, at / 1e6, at / 1e6 + full_after_ms / 1000, granted, epoch)
end
return lines
