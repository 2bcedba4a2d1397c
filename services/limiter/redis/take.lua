-- Takes tokens from the buckets of many subjects in one atomic step, fills buckets, or charges what was admitted without them. The only writer of the buckets.
--
-- KEYS[i]   the key of one group of buckets; all keys lie in one slot
-- ARGV[1]   packed: d the time in microseconds; 0, which it always is but in tests, stands for the server's own clock
--           B the format in which groups are written (1 or 2; both are read)
-- ARGV[2]   the operations in order, packed big-endian one after the other:
--             B   0 = take, 1 = reset, 2 = debit
--             H   which of KEYS
--             I4  cost in tokens, at most the capacity of every enforced bucket (reset: 0)
--             I4  times: how many equal takes this one stands for, granted first come first served (reset: 1; debit: nano-tokens beside the cost)
--             Bc0 the name under which a grant is remembered for 2 s; empty: it is not
--             B   how many buckets follow, each:
--               B      1 = enforced, 0 = in shadow; and 2, if a limiter testifies how it last saw the bucket
--               I4 d d capacity in tokens; the refill is so many tokens every so many seconds
--               H      hash of those three numbers
--               Bc0    name
--               d d H d  testimony: deficit in nano-tokens, its time, epoch, tokens granted since it was last full; by the same rule
--               d d    microseconds since then, at least and at most, by that limiter's clock
-- Returns   packed: I4 buckets and remembered requests dropped because a group had too many, then for each operation in order, up to the
--           one before which 1,024 entries had been read or asked for (the rest has not run: Redis serves nobody else meanwhile)
--             I4  how many of the times were granted
--             B   1 = granted because it was remembered: nothing charged
--             for each bucket, as it stood before, refilled to now: d deficit in nano-tokens, d its time in microseconds,
--             I4 epoch, d tokens granted since it was last full, H hash of the rule of its last writer
--
-- A group is a string: B format, then its entries, each a bucket that is not full
--   format 1   Bc0 name, d deficit, d time, I4 milliseconds from that time until it is full, I4 granted, H epoch, H hash of the rule
--   format 2   B how many bytes the last three take (deficit + 8 * granted + 64 * epoch), B milliseconds until full as `to_byte` has them,
--              I6 time modulo 2^48, H hash of the rule, Bc0 name, deficit, granted, epoch
-- (a string of up to 28 bytes, which is one such bucket with a name of 10 characters, takes 48 bytes of memory; one of up to 44, 64).
-- A remembered request is an entry like a bucket's, which is full when it is forgotten.
-- A take is granted when every enforced bucket holds the cost, and then charges each; a bucket in shadow pays if it holds the cost
-- as well. A debit is charged whatever a bucket holds, and leaves it empty at worst. A refusal and a cost of 0 write nothing, but that a bucket follows a clock that was set back: else each refusal would find
-- it standing still again. A key expires a second after its last bucket is full. A reset leaves the
-- bucket full, under the next epoch, until nobody can remember the emptier one; so does the first charge by another rule than the last,
-- because what was seen before then says nothing any more. A testimony that the stored bucket cannot have come from, because it is
-- emptier or of a later epoch, shows that writes were lost: the bucket becomes what it would be now. Without loss no testimony changes anything.
-- Numbers are whole and below 2^53, where doubles are exact; the arithmetic is that of services/bucket/bucket.ts.
-- Errors    WEIRFORMAT: the key was written by a newer version

local NANO = 1000000000
local REBASE_US = 2000000
local MAX_BUCKETS = 128
local MAX_REQUESTS = 128
local REMEMBERED_MS = 2000
local MAX_ENTRIES = 1024
local MAX_GRANTED = 4294967295
local TIMES = 281474976710656
local EPOCHS = 65536

-- Tables are made with all their fields at once, and functions are locals: in Lua 5.1 that is most of a take's cost.
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local fmod, min, max, ceil = math.fmod, math.min, math.max, math.ceil

local now, write_format = unpack('>dB', ARGV[1])
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function floor_divide(a, b)
  return (a - fmod(a, b)) / b
end

local function refilled(deficit, tokens, period, elapsed)
  local rest = fmod(elapsed, period)
  local whole = 1000 * tokens * ((elapsed - rest) / period)
  return min(deficit, whole + floor_divide(1000 * tokens * rest, period))
end

local function refill_time(deficit, tokens, period)
  local per_period = 1000 * tokens
  local rest = fmod(deficit, per_period)
  local time = (deficit - rest) / per_period * period + floor_divide(rest * period, per_period)
  if fmod(rest * period, per_period) > 0 then time = time + 1 end
  return time
end

local groups = {}
local entries = 0

-- Milliseconds in one byte, rounded up by an eighth at most: a full bucket may stay that much longer, no other goes sooner.
local function to_byte(ms)
  if ms < 8 then return ms end
  local fraction, exponent = math.frexp(ms)
  return min((exponent - 4) * 8 + ceil(fraction * 16), 255)
end

local function from_byte(byte)
  if byte < 8 then return byte end
  local rest = fmod(byte, 8)
  return math.ldexp(8 + rest, (byte - rest) / 8 - 1)
end

-- Of all times that are equal modulo 2^48 microseconds (9 years) the one nearest to now.
local function from_time(rest)
  local time = now - fmod(now, TIMES) + rest
  if time - now > TIMES / 2 then return time - TIMES end
  if now - time > TIMES / 2 then return time + TIMES end
  return time
end

-- How many bytes a number takes, up to 7; nothing for 0.
local function bytes_of(number)
  local bytes = 0
  local least = 1
  while number >= least do
    least = least * 256
    bytes = bytes + 1
  end
  return bytes
end

-- The format of the three numbers of a bucket, by how many bytes they take.
local formats = {}
local function format_of(widths)
  local known = formats[widths]
  if known then return known end
  local of_deficit = fmod(widths, 8)
  local of_granted = fmod(widths - of_deficit, 64) / 8
  known = '>I' .. of_deficit .. 'I' .. of_granted .. 'I' .. (widths - of_deficit - 8 * of_granted) / 64
  formats[widths] = known
  return known
end

local function is_request(name)
  return string.byte(name) == 0
end

local function stored_bucket(deficit, at, full_after_ms, granted, epoch, rule)
  return {
    deficit = deficit, at = at, granted = granted, epoch = epoch, rule = rule,
    full_after_ms = full_after_ms, full_at = at + full_after_ms * 1000, asked = false,
  }
end

-- Reads the entry at a position: its name, what it says, and where the next one begins.
local readers = {
  [1] = function(value, position)
    local name, deficit, at, full_after_ms, granted, epoch, rule
    name, deficit, at, full_after_ms, granted, epoch, rule, position = unpack('>Bc0ddI4I4HH', value, position)
    return name, stored_bucket(deficit, at, full_after_ms, granted, epoch, rule), position
  end,
  [2] = function(value, position)
    local widths, full_after, time, rule, name, deficit, granted, epoch
    widths, full_after, time, rule, name, position = unpack('>BBI6HBc0', value, position)
    deficit, granted, epoch, position = unpack(format_of(widths), value, position)
    local full_after_ms = is_request(name) and REMEMBERED_MS or from_byte(full_after)
    return name, stored_bucket(deficit, from_time(time), full_after_ms, granted, epoch, rule), position
  end,
}

local writers = {
  [1] = function(name, bucket)
    return pack(
      '>Bc0ddI4I4HH', #name, name, bucket.deficit, bucket.at, bucket.full_after_ms, bucket.granted, bucket.epoch, bucket.rule)
  end,
  [2] = function(name, bucket)
    local widths = bytes_of(bucket.deficit) + 8 * bytes_of(bucket.granted) + 64 * bytes_of(bucket.epoch)
    return pack('>BBI6HBc0', widths, to_byte(bucket.full_after_ms), fmod(bucket.at, TIMES), bucket.rule, #name, name)
      .. pack(format_of(widths), bucket.deficit, bucket.granted, bucket.epoch)
  end,
}

local function load_group(index)
  if groups[index] then return groups[index] end
  local group = { buckets = {}, dirty = false }
  local value = call('GET', KEYS[index])
  if value then
    local read = readers[string.byte(value)]
    if not read then return nil end
    local position = 2
    while position <= #value do
      local name, bucket
      name, bucket, position = read(value, position)
      entries = entries + 1
      if bucket.full_at > now then group.buckets[name] = bucket end
    end
  end
  groups[index] = group
  return group
end

-- The bucket refilled to now; a full one when there is none. `rebased`: it has followed a clock that was set back.
local function refill(stored, asked)
  if not stored then
    return { deficit = 0, at = now, granted = 0, epoch = 0, rule = asked.rule, rebased = false, full_after_ms = 0, full_at = 0, asked = true }
  end
  local deficit, at, granted = min(stored.deficit, asked.capacity * NANO), now, stored.granted
  local ahead = stored.at - now
  if ahead < 0 then
    deficit = deficit - refilled(deficit, asked.tokens, asked.period, -ahead)
    if deficit == 0 then granted = 0 end
  elseif ahead <= REBASE_US then
    at = stored.at
  end
  return {
    deficit = deficit, at = at, granted = granted, epoch = stored.epoch, rule = stored.rule,
    rebased = ahead > REBASE_US, full_after_ms = 0, full_at = 0, asked = true,
  }
end

local function next_epoch(bucket)
  return fmod(bucket.epoch + 1, EPOCHS)
end

local function write(group, asked, bucket)
  if bucket.rule ~= asked.rule then bucket.epoch = next_epoch(bucket) end
  bucket.rule = asked.rule
  local wait = refill_time(bucket.deficit, asked.tokens, asked.period)
  if bucket.epoch > 0 then wait = max(wait, refill_time(asked.capacity * NANO, asked.tokens, asked.period)) end
  bucket.full_after_ms = ceil(wait / 1000)
  local stored = group.buckets[asked.name]
  if bucket.epoch > 0 and stored then
    -- As long as the last rule would have kept it, or the last reset: so long somebody may remember it emptier.
    local kept_until = stored.at > bucket.at and bucket.at + stored.full_after_ms * 1000 or stored.full_at
    bucket.full_after_ms = max(bucket.full_after_ms, ceil((kept_until - bucket.at) / 1000))
  end
  bucket.full_at = bucket.at + bucket.full_after_ms * 1000
  group.buckets[asked.name] = bucket
  group.dirty = true
end

-- Makes good what was forgotten of a bucket, and tells whether there was something.
local function recall(asked, bucket)
  local witness = asked.witness
  if bucket.rule ~= asked.rule then return false end
  local ahead = fmod(witness.epoch - bucket.epoch + EPOCHS, EPOCHS)
  if ahead >= EPOCHS / 2 then return false end
  local elapsed = min(max(bucket.at - witness.at, witness.at_least), witness.at_most)
  local deficit = min(witness.deficit, asked.capacity * NANO)
  -- What a reply told was rounded up, by less than a nano-token.
  deficit = deficit - refilled(deficit, asked.tokens, asked.period, elapsed) - 1
  if deficit <= 0 or (ahead == 0 and deficit <= bucket.deficit) then return false end
  if ahead == 0 then
    -- So much as accounts for what is missing: another limiter that has seen neither finds that nothing was granted beside it.
    bucket.granted = min(bucket.granted + floor_divide(deficit - bucket.deficit, NANO), MAX_GRANTED)
  else
    bucket.granted = witness.granted
  end
  bucket.deficit = deficit
  bucket.epoch = witness.epoch
  return true
end

-- How many of the takes the bucket can pay for.
local function affordable(asked, bucket, cost, times)
  local left = asked.capacity * NANO - bucket.deficit
  if left < cost * NANO then return 0 end
  return min(times, floor_divide(left, cost * NANO))
end

local function remember(group, request)
  group.buckets[request] =
    { deficit = 0, at = now, full_after_ms = REMEMBERED_MS, full_at = now + REMEMBERED_MS * 1000, granted = 0, epoch = 0, rule = 0, asked = true }
  group.dirty = true
end

local function charge(group, asked, bucket, tokens, nano)
  bucket.deficit = min(bucket.deficit + tokens * NANO + nano, asked.capacity * NANO)
  bucket.granted = min(bucket.granted + tokens, MAX_GRANTED)
  write(group, asked, bucket)
end

local function take(group, asked, buckets, cost, times, request)
  if cost == 0 then return times, 0 end
  if request ~= '' and group.buckets[request] then return times, 1 end
  local granted = times
  for i = 1, #asked do
    if asked[i].enforced == 1 then granted = min(granted, affordable(asked[i], buckets[i], cost, times)) end
  end
  if granted == 0 then return 0, 0 end
  for i = 1, #asked do
    local paid = min(granted, affordable(asked[i], buckets[i], cost, times))
    if paid > 0 then charge(group, asked[i], buckets[i], paid * cost, 0) end
  end
  if request ~= '' then remember(group, request) end
  return granted, 0
end

local function debit(group, asked, buckets, tokens, nano, request)
  if group.buckets[request] then return 1, 1 end
  for i = 1, #asked do charge(group, asked[i], buckets[i], tokens, nano) end
  remember(group, request)
  return 1, 0
end

local function reset(group, asked, buckets)
  for i = 1, #asked do
    local bucket = buckets[i]
    bucket.epoch = next_epoch(bucket)
    bucket.rule = asked[i].rule
    bucket.deficit = 0
    bucket.granted = 0
    write(group, asked[i], bucket)
  end
  return 1, 0
end

local reply = {}
local position = 1
while position <= #ARGV[2] and entries < MAX_ENTRIES do
  local operation, key_index, cost, times, request, count
  operation, key_index, cost, times, request, count, position = unpack('>BHI4I4Bc0B', ARGV[2], position)
  local group = load_group(key_index)
  if not group then return redis.error_reply('WEIRFORMAT ' .. KEYS[key_index] .. ' was written by a newer version') end
  local outcome_at = #reply + 1
  reply[outcome_at] = ''
  local asked, buckets = {}, {}
  entries = entries + count
  for i = 1, count do
    local enforced, capacity, tokens, period, rule, name
    enforced, capacity, tokens, period, rule, name, position = unpack('>BI4ddHBc0', ARGV[2], position)
    local witness
    if enforced >= 2 then
      enforced = enforced - 2
      local deficit, at, epoch, granted, at_least, at_most
      deficit, at, epoch, granted, at_least, at_most, position = unpack('>ddHddd', ARGV[2], position)
      witness = { deficit = deficit, at = at, epoch = epoch, granted = granted, at_least = at_least, at_most = at_most }
    end
    local one =
      { enforced = enforced, capacity = capacity, tokens = tokens, period = period, rule = rule, name = name, witness = witness }
    local stored = group.buckets[name]
    if stored then stored.asked = true end
    local bucket = refill(stored, one)
    local taught = witness and recall(one, bucket)
    if bucket.rebased or taught then write(group, one, bucket) end
    reply[outcome_at + i] = pack('>ddI4dH', bucket.deficit, bucket.at, bucket.epoch, bucket.granted, bucket.rule)
    asked[i] = one
    buckets[i] = bucket
  end
  local granted, replayed
  if operation == 0 then
    granted, replayed = take(group, asked, buckets, cost, times, request)
  elseif operation == 2 then
    granted, replayed = debit(group, asked, buckets, cost, times, request)
  else
    granted, replayed = reset(group, asked, buckets)
  end
  reply[outcome_at] = pack('>I4B', granted, replayed)
end

-- What is kept of a group: of its buckets those that this call was about and the emptiest others, of its remembered requests the last. Nobody
-- can push out a bucket that is asked for by asking for others. Also how many were dropped.
local function bounded(buckets)
  local names, requests = {}, {}
  for name in pairs(buckets) do
    local list = is_request(name) and requests or names
    list[#list + 1] = name
  end
  local dropped = 0
  local function keep(list, most)
    if #list <= most then return end
    table.sort(list, function(a, b)
      local one, other = buckets[a], buckets[b]
      if one.asked ~= other.asked then return one.asked end
      if one.full_at ~= other.full_at then return one.full_at > other.full_at end
      return a < b
    end)
    dropped = dropped + #list - most
    for i = #list, most + 1, -1 do list[i] = nil end
  end
  keep(names, MAX_BUCKETS)
  keep(requests, MAX_REQUESTS)
  for _, request in ipairs(requests) do names[#names + 1] = request end
  return names, dropped
end

local dropped_total = 0
for index, group in pairs(groups) do
  if group.dirty then
    local names, dropped = bounded(group.buckets)
    dropped_total = dropped_total + dropped
    local parts = { pack('>B', write_format) }
    local last_full_at = now
    for _, name in ipairs(names) do
      local bucket = group.buckets[name]
      last_full_at = max(last_full_at, bucket.full_at)
      parts[#parts + 1] = writers[write_format](name, bucket)
    end
    local ttl_ms = ceil((last_full_at - now) / 1000) + 1000
    call('SET', KEYS[index], table.concat(parts), 'PX', string.format('%d', ttl_ms))
  end
end

return pack('>I4', dropped_total) .. table.concat(reply)
