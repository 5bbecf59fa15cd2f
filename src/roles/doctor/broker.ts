import { ErrorReply } from '@redis/client'
import { brokerUrlProblems } from '../../config/check-cluster.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { reasonOf } from '../../domain/errors.ts'
import { redisClient } from '../../link/broker/redis-client.ts'
import { KEYS } from '../../link/broker/scripts.ts'
import { monotonicMs } from '../system-clock.ts'
import { fail, ok, warn } from './finding.ts'

const CHECK = 'broker'
/** As `--broker` states; others are not tested. */
const MAJOR_MIN = { Valkey: 8, Redis: 7 } as const
const MIB = 1_048_576
/** Twice what documents of 1,000 coins took, with connections: 78 MiB (`docs/growth.md`). */
const MEMORY_MIB_MIN = 160
const USED_SHARE_MAX = 0.9
/** Reads only. Every operation of the link is a script on this key. */
const IS_LED = "return redis.call('EXISTS', KEYS[1])"
/** The server does not accept user or password. */
const REFUSED = /^(NOAUTH|WRONGPASS|ERR (invalid|Client sent AUTH|AUTH))/

/** Examines the server at `--broker` as engine and gateways use it, and changes nothing; null without one. */
export async function checkBroker(url: string | undefined): Promise<DoctorFinding | null> {
  if (url === undefined) return null
  const [problem] = brokerUrlProblems(url)
  if (problem !== undefined) return fail(CHECK, problem, 'correct --broker')
  const client = redisClient(url, Math.random)
  // The client would connect again and again; one failure is the finding.
  const failure = new Promise<never>((_resolve, reject) => client.on('error', reject))
  const reply = <Reply>(pending: Promise<Reply>) => Promise.race([failure, pending])
  try {
    await reply(client.connect())
    const askedMs = monotonicMs()
    await reply(client.ping())
    const trip = `round trip ${(monotonicMs() - askedMs).toFixed(1)} ms`
    const isLed = await reply(client.eval(IS_LED, { keys: [KEYS.lease], arguments: [] }))
    const password = new URL(url).password === '' ? 'no password' : 'password accepted'
    const common = `${trip}, ${password}, ${isLed === 1 ? 'an engine leads' : 'no engine leads'}`
    // Engine and gateways do not need it, so a user without this right is no failure.
    const info = await reply(client.info()).catch((cause: unknown) => {
      if (cause instanceof ErrorReply) return null
      throw cause
    })
    if (info === null)
      return warn(CHECK, `${common}; version and memory are not shown`, 'allow INFO to this user')
    return findingOf(fieldsOf(String(info)), common)
  } catch (cause) {
    const reason = reasonOf(cause)
    const advice = REFUSED.test(reason)
      ? 'check user and password of --broker'
      : 'without it no document reaches a gateway: check --broker and the server'
    return fail(CHECK, `cannot be used: ${reason}`, advice)
  } finally {
    client.destroy()
  }
}

function findingOf(fields: ReadonlyMap<string, string>, common: string): DoctorFinding {
  const valkey = fields.get('valkey_version')
  const product = valkey === undefined ? 'Redis' : 'Valkey'
  const version = valkey ?? fields.get('redis_version') ?? 'of unknown version'
  const usedMib = Number(fields.get('used_memory')) / MIB
  const limitMib = Number(fields.get('maxmemory')) / MIB
  const policy = fields.get('maxmemory_policy')
  const memory =
    limitMib > 0
      ? `${usedMib.toFixed(1)} of ${limitMib.toFixed(0)} MiB used, ${policy}`
      : `${usedMib.toFixed(1)} MiB used, no limit`
  const found = `${product} ${version}, ${common}, ${memory}`
  if (fields.get('role') === 'slave')
    return fail(CHECK, `${found}; a replica`, 'give the primary server, not a replica')
  const remedies = [
    ...(Number.parseInt(version, 10) >= MAJOR_MIN[product]
      ? []
      : ['use Valkey 8, Redis 7 or later: others are not tested']),
    ...(limitMib > 0 && policy !== 'noeviction'
      ? ['set maxmemory-policy noeviction: documents or the lease of the engine can be evicted']
      : []),
    ...(limitMib > 0 && limitMib < MEMORY_MIB_MIN
      ? [`set maxmemory to ${MEMORY_MIB_MIN} MiB or more, as in deploy/kubernetes/valkey.conf`]
      : []),
    ...(limitMib > 0 && usedMib > USED_SHARE_MAX * limitMib
      ? ['raise maxmemory: without room no document is published']
      : []),
  ]
  return remedies.length === 0 ? ok(CHECK, found) : warn(CHECK, found, remedies.join('; '))
}

/** `name:value` in lines. */
function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
    }),
  )
}
