import type { ConsoleDocumentEvent } from '../../src/domain/console-protocol.ts'

/** Answers as buyers get them, by path and version: the admin port streams each version that a page shows. */
export class SoldAnswers {
  readonly #reader: ReadableStreamDefaultReader<string>
  readonly #answers = new Map<string, unknown>()
  /** The beginning of an event whose end has not arrived. */
  #rest = ''

  private constructor(reader: ReadableStreamDefaultReader<string>) {
    this.#reader = reader
  }

  static async open(adminUrl: string, paths: Iterable<string>): Promise<SoldAnswers> {
    const query = new URLSearchParams(
      Array.from(paths, (path): [string, string] => ['document', path]),
    )
    const { body } = await fetch(`${adminUrl}/console/live?${query}`)
    if (body === null) throw new Error('the stream is refused')
    return new SoldAnswers(body.pipeThrough(new TextDecoderStream()).getReader())
  }

  /** Waits for what the service sends next, which may be a part of an event. */
  async more(): Promise<void> {
    const { value, done } = await this.#reader.read()
    if (done) throw new Error('the stream has ended')
    const events = (this.#rest + value).split('\n\n')
    this.#rest = events.pop() ?? ''
    for (const event of events.filter((text) => text.startsWith('event: document'))) {
      const [, data = ''] = /^data: (.*)$/m.exec(event) ?? []
      const { name, version, answer } = JSON.parse(data) as ConsoleDocumentEvent
      this.#answers.set(`${name} ${version}`, answer)
    }
  }

  /** undefined before that version has arrived */
  of<Answer>(path: string, version: string | null): Answer | undefined {
    return this.#answers.get(`${path} ${version}`) as Answer | undefined
  }

  async close(): Promise<void> {
    await this.#reader.cancel()
  }
}
