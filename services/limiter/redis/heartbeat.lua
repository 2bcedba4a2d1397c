-- Notes that a limiter lives, and counts those that do.
--
-- KEYS[1]   where the limiters are noted: a string of `ID SECOND;` for each
-- ARGV[1]   the limiter's id, of letters and digits
-- Returns   how many limiters were heard of in the last 15 seconds, this one included, at most 1000

local ALIVE_S = 15
local MAX_LIMITERS = 1000

local now = tonumber(redis.call('TIME')[1])
local noted = { ARGV[1] .. ' ' .. now .. ';' }
for id, second in string.gmatch(redis.call('GET', KEYS[1]) or '', '(%w+) (%d+);') do
  if id ~= ARGV[1] and now - tonumber(second) < ALIVE_S and #noted < MAX_LIMITERS then
    noted[#noted + 1] = id .. ' ' .. second .. ';'
  end
end
redis.call('SET', KEYS[1], table.concat(noted), 'EX', ALIVE_S)
return #noted
