import type { Page } from 'playwright-core'
import type {
  ConsoleDocumentEvent,
  ConsoleServiceEvent,
} from '../../src/domain/console-protocol.ts'

/** The browser connects again after each response. */
const RETRY_MS = 100

/**
 * Gives the page these answers in place of the stream, each in one version.
 * @param answers by the path of the call
 * @returns a function that publishes the next version of an answer
 */
export async function scriptStream(
  page: Page,
  answers: ReadonlyMap<string, unknown>,
): Promise<(name: string, answer: unknown) => void> {
  const at = Date.now()
  const service: ConsoleServiceEvent = { engine: 'available', now: at }
  const versions = new Map([...answers].map(([name, answer]) => [name, { number: 1, answer }]))
  await page.route('**/console/live?*', (route) => {
    const names = new URL(route.request().url()).searchParams.getAll('document')
    const documents = names.flatMap((name) => {
      const newest = versions.get(name)
      if (newest === undefined) return []
      const { number, answer } = newest
      const event: ConsoleDocumentEvent = { name, version: `scripted-${number}`, at, answer }
      return [`event: document\ndata: ${JSON.stringify(event)}\n\n`]
    })
    return route.fulfill({
      contentType: 'text/event-stream',
      body: `retry: ${RETRY_MS}\nevent: service\ndata: ${JSON.stringify(service)}\n\n${documents.join('')}`,
    })
  })
  return (name, answer) => {
    versions.set(name, { number: (versions.get(name)?.number ?? 0) + 1, answer })
  }
}
