import { inflateRawSync } from 'node:zlib'
import type { CloseCode } from '../fault.ts'
import type { Peer, Session } from '../session.ts'
import type { Venue } from '../venue.ts'

export type Frame = { readonly channel: string; readonly data?: unknown }

/** A client without a socket: it keeps every frame and whether it was dropped. For tests. */
export class ScriptedClient {
  readonly texts: string[] = []
  /** How it was dropped. */
  code: CloseCode | undefined
  readonly #session: Session | undefined

  constructor(venue: Venue, address = 'here') {
    const peer: Peer = {
      send: (text) => {
        this.texts.push(text)
      },
      drop: (code) => {
        this.code = code
      },
      queuedBytes: () => 0,
    }
    this.#session = venue.connect(address, peer)
  }

  get isDropped(): boolean {
    return this.code !== undefined
  }

  get isConnected(): boolean {
    return this.#session !== undefined && !this.isDropped
  }

  get frames(): Frame[] {
    return this.texts.map((text) => JSON.parse(text))
  }

  get channels(): string[] {
    return this.frames.map(({ channel }) => channel)
  }

  /** Data of all frames of a channel. */
  data(channel: string): unknown[] {
    return this.frames.filter((frame) => frame.channel === channel).map(({ data }) => data)
  }

  sendText(text: string): void {
    this.#session?.receive(text)
  }

  send(frame: object): void {
    this.sendText(JSON.stringify(frame))
  }

  subscribe(subscription: object): void {
    this.send({ method: 'subscribe', subscription })
  }
}

export function inflated(data: string): Record<string, { markPx?: string; midPx?: string | null }> {
  return JSON.parse(inflateRawSync(Buffer.from(data, 'base64')).toString('utf8'))
}
