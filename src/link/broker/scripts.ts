import { LINK_FORMAT } from './frame.ts'

/**
 * Keys and channel of one format, so that gateways of another format never read them. The braces keep all keys in one
 * slot of a cluster, because a script uses several.
 */
const PREFIX = `{perpscope:${LINK_FORMAT}}`
export const KEYS = {
  lease: `${PREFIX}:lease`,
  epoch: `${PREFIX}:epoch`,
  /** Hash: subject to position, as text that sorts like the position. */
  positions: `${PREFIX}:positions`,
  /** Hash: subject to frame. */
  frames: `${PREFIX}:frames`,
  channel: `${PREFIX}:channel`,
} as const

/** `max(stored + 1, time)`, because a counter alone begins again on a server that lost its data. */
export const ACQUIRE = `
if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[2]) then return false end
local time = redis.call('TIME')
local stored = tonumber(redis.call('GET', KEYS[2]) or '0')
local epoch = string.format('%.0f', math.max(stored + 1, time[1] * 1000 + math.floor(time[2] / 1000)))
redis.call('SET', KEYS[2], epoch)
redis.call('SET', KEYS[1], epoch .. ':' .. ARGV[1], 'PX', ARGV[2])
return epoch`

export const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

export const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

/** Compares positions too, because a delayed publication of the same leader must not replace a newer one. */
export const PUBLISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'fenced' end
local stored = redis.call('HGET', KEYS[2], ARGV[3])
if stored and stored >= ARGV[4] then return 'older' end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
redis.call('HSET', KEYS[3], ARGV[3], ARGV[5])
redis.call('PUBLISH', ARGV[2], ARGV[5])
return 'published'`

export const SEND = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`

export const RETAIN = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local kept = {}
for at = 2, #ARGV do kept[ARGV[at]] = true end
for _, subject in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not kept[subject] then
    redis.call('HDEL', KEYS[2], subject)
    redis.call('HDEL', KEYS[3], subject)
  end
end
return 1`

/** Epoch and sequence in 16 digits each, so that the order of the text is the order of positions. */
export function positionText(epoch: number, sequence: number): string {
  return `${digits(epoch)}:${digits(sequence)}`
}

function digits(value: number): string {
  return String(value).padStart(16, '0')
}
