import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Document } from '../../src/domain/document.ts'
import { ownDocuments } from '../../src/domain/placed-document.ts'
import { Mirror } from '../../src/link/broker/mirror.ts'
import { RedisBroker } from '../../src/link/broker/redis-broker.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import { end } from '../../src/roles/child-process.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { LinkEngineCommand, LinkEngineReport, LinkEngineSettings } from './link-engine.ts'
import { until } from './service.ts'

const ENGINE = join(import.meta.dirname, 'link-engine.ts')

/** A gateway of this process, connected by the real client. */
export class LinkGateway {
  readonly replica = new WatchedReplica({ analysis: 'pulse', view: '1h,4h' })
  readonly mirror: Mirror
  /** Number of connections that the mirror replaced because they were silent. */
  reconnections = 0
  readonly #broker: RedisBroker

  constructor(url: string) {
    this.#broker = new RedisBroker({
      url,
      clock: systemClock,
      random: Math.random,
      onFailure: () => {},
    })
    this.mirror = new Mirror({
      broker: this.#broker,
      replica: this.replica,
      clock: systemClock,
      monotonicMs: () => performance.now(),
      onNotice: ({ kind }) => {
        if (kind === 'reconnecting') this.reconnections += 1
      },
    })
    this.mirror.start()
  }

  close(): void {
    this.mirror.stop()
    this.#broker.close()
  }

  /** @returns milliseconds until every one of these coins has a document that was rendered after an instant */
  async freshAfter(sinceMs: number, coins: readonly string[]): Promise<number> {
    await until('every document is newer', async () =>
      coins.every((coin) => (this.replica.document(`pulse/${coin}`)?.renderedAtMs ?? 0) > sinceMs),
    )
    return systemClock.nowMs() - sinceMs
  }

  documents(coins: readonly string[]): readonly string[] {
    return coins
      .flatMap((coin) => ownDocuments(this.replica.documentsOf(coin)).map(textOf))
      .toSorted()
  }
}

/** Counts documents that replace a later rendering. */
class WatchedReplica extends EngineReplica {
  older = 0

  override apply(message: EngineMessage, nowMs: number): void {
    if (message.kind === 'subject')
      for (const { key, renderedAtMs } of message.documents)
        if (renderedAtMs < (this.document(key)?.renderedAtMs ?? 0)) this.older += 1
    super.apply(message, nowMs)
  }
}

/** An engine in a process of its own. */
export class LinkEngineProcess {
  readonly #child: ChildProcess
  #report: LinkEngineReport | null = null

  constructor(settings: LinkEngineSettings) {
    this.#child = fork(ENGINE, [JSON.stringify(settings)])
    const killAtExit = () => this.#child.kill('SIGKILL')
    process.once('exit', killAtExit)
    this.#child.once('exit', () => process.removeListener('exit', killAtExit))
    this.#child.on('message', (report: LinkEngineReport) => {
      this.#report = report
    })
  }

  get isLeading(): boolean {
    return this.epoch !== null
  }

  /** Of its lease, by its last report; null without one. */
  get epoch(): number | null {
    return this.#report?.epoch ?? null
  }

  /** Number of publications that the broker refused because another engine leads. */
  get refusedPublications(): number {
    return this.#report?.refusedPublications ?? 0
  }

  /** Resolves when it is connected to the broker. */
  async starts(): Promise<void> {
    await until('an engine is connected', async () => this.#report !== null)
  }

  async leads(): Promise<void> {
    await until('an engine leads', async () => this.isLeading)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Ends the rendering. @returns the final documents */
  async finalDocuments(): Promise<readonly string[]> {
    this.#order('close-market')
    const documents = () => this.#report?.documents ?? []
    await until('an engine reports its documents', async () => documents().length > 0)
    return documents()
  }

  /** Renders again after `finalDocuments`. */
  async continues(): Promise<void> {
    this.#order('open-market')
    await until('an engine renders', async () => this.#report?.documents.length === 0)
  }

  async end(): Promise<void> {
    this.#child.kill('SIGCONT')
    await end(this.#child, 'SIGKILL')
  }

  #order(command: LinkEngineCommand): void {
    this.#child.send(command)
  }
}

export function textOf({ key, version, bytes }: Document): string {
  return `${key} ${version} ${Buffer.from(bytes).toString('base64')}`
}

/** A TCP proxy that can hold back everything without closing a connection. */
export class HeldProxy {
  readonly #sockets = new Set<Socket>()
  readonly #servers = new Set<Socket>()
  readonly #server = createServer((client) => this.#forward(client))
  readonly #target: number
  #isHeld = false

  constructor(targetPort: number) {
    this.#target = targetPort
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    return `redis://127.0.0.1:${address.port}`
  }

  hold(): void {
    this.#isHeld = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Local ports of its connections to the broker. */
  serverPorts(): readonly number[] {
    return [...this.#servers].flatMap(({ localPort }) => localPort ?? [])
  }

  release(): void {
    this.#isHeld = false
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #forward(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1')
    this.#servers.add(server)
    server.on('close', () => this.#servers.delete(server))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (data) => to.write(data))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      if (this.#isHeld) from.pause()
    }
  }
}
