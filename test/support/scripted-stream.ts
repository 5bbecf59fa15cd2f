import type { Page } from 'playwright-core'
import type {
  ConsoleDocumentEvent,
  ConsoleServiceEvent,
} from '../../src/domain/console-protocol.ts'

/**
 * Gives the page these answers in place of the stream, each in one version.
 * @param answers by the path of the call
 */
export async function scriptStream(
  page: Page,
  answers: ReadonlyMap<string, unknown>,
): Promise<void> {
  const at = Date.now()
  const service: ConsoleServiceEvent = { engine: 'available', now: at }
  await page.route('**/console/live?*', (route) => {
    const names = new URL(route.request().url()).searchParams.getAll('document')
    const documents = names.flatMap((name) => {
      const answer = answers.get(name)
      const event: ConsoleDocumentEvent = { name, version: 'scripted', at, answer }
      return answer === undefined ? [] : [`event: document\ndata: ${JSON.stringify(event)}\n\n`]
    })
    return route.fulfill({
      contentType: 'text/event-stream',
      body: `event: service\ndata: ${JSON.stringify(service)}\n\n${documents.join('')}`,
    })
  })
}
