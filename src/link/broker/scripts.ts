import { LINK_FORMAT } from './frame.ts'

/**
 * Keys and channel of one format, so that gateways of another format never read them. The braces keep all keys in one
 * slot of a cluster, because a script uses several.
 */
const PREFIX = `{perpscope:${LINK_FORMAT}}`
export const KEYS = {
  lease: `${PREFIX}:lease`,
  epoch: `${PREFIX}:epoch`,
  /** Set of the subjects that are stored. */
  subjects: `${PREFIX}:subjects`,
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

/** Prefix of the hash of a subject: head and documents of its frame by name, and its position. */
const SUBJECT = `${PREFIX}:subject:`

export function subjectKey(subject: string): string {
  return SUBJECT + subject
}

/** Names within the hash of a subject; the key of a document has a slash. */
export const FIELDS = { position: 'position', head: 'head' } as const

/**
 * Compares positions too, because a delayed publication of the same leader must not replace a newer one, and what a frame
 * continues may be lost.
 */
export const PUBLISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'fenced' end
local stored = redis.call('HGET', KEYS[3], '${FIELDS.position}')
if stored and stored >= ARGV[4] then return 'older' end
if ARGV[5] == '' then redis.call('DEL', KEYS[3])
elseif stored ~= ARGV[5] then return 'incomplete' end
local parts = {ARGV[6]}
for at = 8, #ARGV, 2 do parts[#parts + 1] = ARGV[at] end
redis.call('HSET', KEYS[3], '${FIELDS.position}', ARGV[4], '${FIELDS.head}', unpack(ARGV, 6))
redis.call('SADD', KEYS[2], ARGV[3])
redis.call('PUBLISH', ARGV[2], table.concat(parts))
return 'published'`

export const SEND = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`

export const RETAIN = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local kept = {}
for at = 2, #ARGV do kept[ARGV[at]] = true end
for _, subject in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not kept[subject] then
    redis.call('SREM', KEYS[2], subject)
    redis.call('DEL', '${SUBJECT}' .. subject)
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
