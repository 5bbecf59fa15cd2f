import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import type {
  Broker,
  BrokerSubscription,
  Lease,
  Publication,
  PublishOutcome,
  Subscriber,
} from './broker.ts'
import type { RedisClient } from './redis-client.ts'
import { REPLY_MS_MAX, redisClient } from './redis-client.ts'
import {
  ACQUIRE,
  FIELDS,
  KEYS,
  PUBLISH,
  positionText,
  RELEASE,
  RENEW,
  RETAIN,
  SEND,
  subjectKey,
} from './scripts.ts'

/** Subjects per read of a snapshot: 100 kB each. */
const SUBJECTS_PER_READ = 16

export type RedisBrokerOptions = {
  /** `redis://`, `rediss://` for TLS; `valkey://` and `valkeys://` mean the same. */
  readonly url: string
  readonly clock: Pick<Clock, 'after'>
  /** Random number from 0 to 1. */
  readonly random: () => number
  /** A connection failed; it is replaced. */
  readonly onFailure: (cause: unknown) => void
}

/** The {@link Broker} on a Valkey or Redis server. Commands and each subscription have a connection of their own. */
export class RedisBroker implements Broker {
  readonly #options: RedisBrokerOptions
  #commands: RedisClient
  #isClosed = false

  /** Connects in the background. */
  constructor(options: RedisBrokerOptions) {
    this.#options = options
    this.#commands = this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#commands.destroy()
  }

  async acquire(engineId: string, ttlMs: number): Promise<Lease | null> {
    const epoch = await this.#run(ACQUIRE, [KEYS.lease, KEYS.epoch], [engineId, String(ttlMs)])
    return epoch === null ? null : { epoch: Number(epoch), token: `${epoch}:${engineId}` }
  }

  async renew({ token }: Lease, ttlMs: number): Promise<boolean> {
    return (await this.#run(RENEW, [KEYS.lease], [token, String(ttlMs)])) === 1
  }

  async release({ token }: Lease): Promise<void> {
    await this.#run(RELEASE, [KEYS.lease], [token])
  }

  async publish(
    { epoch, token }: Lease,
    { subject, sequence, base, parts }: Publication,
  ): Promise<PublishOutcome> {
    const outcome = await this.#run(
      PUBLISH,
      [KEYS.lease, KEYS.subjects, subjectKey(subject)],
      [
        ...[token, KEYS.channel, subject, positionText(epoch, sequence)],
        base === null ? '' : positionText(epoch, base),
        bytesOf(parts.head),
        ...[...parts.documents].flatMap(([key, bytes]) => [key, bytesOf(bytes)]),
      ],
    )
    return String(outcome) as PublishOutcome
  }

  async send({ token }: Lease, frame: Uint8Array): Promise<boolean> {
    return (await this.#run(SEND, [KEYS.lease], [token, KEYS.channel, bytesOf(frame)])) === 1
  }

  async retain({ token }: Lease, subjects: readonly string[]): Promise<boolean> {
    const keys = [KEYS.lease, KEYS.subjects]
    return (await this.#run(RETAIN, keys, [token, ...subjects])) === 1
  }

  subscribe({ onActive, onFrame }: Subscriber): BrokerSubscription {
    const client = this.#newClient()
    let isSubscribed = false
    // The client subscribes again by itself before it reports a new connection as ready.
    client.on('ready', () => {
      if (isSubscribed) onActive()
    })
    const begin = async () => {
      await client.connect()
      await client.subscribe(KEYS.channel, (frame: Buffer) => onFrame(frame), true)
      isSubscribed = true
      onActive()
    }
    begin().catch(this.#options.onFailure)
    return { close: () => client.destroy() }
  }

  async snapshot(onFrame: (frame: Uint8Array) => void, subjects?: Iterable<string>): Promise<void> {
    const wanted = [
      ...(subjects ?? (await this.#reply((client) => client.sMembers(KEYS.subjects)))),
    ]
    for (let at = 0; at < wanted.length; at += SUBJECTS_PER_READ) {
      const slice = wanted.slice(at, at + SUBJECTS_PER_READ)
      const stored = await this.#reply((client) =>
        Promise.all(slice.map((subject) => client.hGetAll(subjectKey(String(subject))))),
      )
      for (const fields of stored) {
        const { [FIELDS.position]: _, [FIELDS.head]: head, ...documents } = fields
        if (head !== undefined) onFrame(Buffer.concat([head, ...Object.values(documents)]))
      }
    }
  }

  #run(script: string, keys: readonly string[], args: readonly (string | Buffer)[]) {
    return this.#reply((client) => client.eval(script, { keys: [...keys], arguments: [...args] }))
  }

  /** @throws what the client throws, and OperatingError without a reply in time */
  async #reply<Reply>(ask: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    const client = this.#commands
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(REPLY_MS_MAX, () => {
        reject(new OperatingError('broker', `the broker did not reply within ${REPLY_MS_MAX} ms`))
        this.#replace(client)
      })
      ask(client).then(resolve, reject).finally(cancel)
    })
  }

  /** Later commands wait behind the one without a reply, so all of them need another connection. */
  #replace(client: RedisClient): void {
    if (client !== this.#commands || this.#isClosed) return
    client.destroy()
    this.#commands = this.#connect()
  }

  #connect(): RedisClient {
    const client = this.#newClient()
    // Failures are reported by the event; only `destroy` ends the attempts.
    client.connect().catch(() => {})
    return client
  }

  #newClient(): RedisClient {
    const { url, random, onFailure } = this.#options
    return redisClient(url, random).on('error', onFailure)
  }
}

function bytesOf(frame: Uint8Array): Buffer {
  return Buffer.from(frame.buffer, frame.byteOffset, frame.length)
}
