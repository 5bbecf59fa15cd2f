import { existsSync } from 'node:fs'
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { chromium } from 'playwright-core'

/** The platform's browser; null where none is installed, and what needs one is skipped. */
export const chromiumPath =
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync) ??
  null

export type PageOptions = {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
  /** Runs in the page before its own scripts: a wallet, for example. */
  readonly before?: string
}

export type WatchedPage = {
  readonly page: Page
  /** Errors of scripts, messages of the console, violations of the policy, requests to other hosts. */
  readonly faults: readonly string[]
}

/** A headless browser for the tests of one file; `close` ends it with all its pages. */
export class ConsoleBrowser {
  readonly #browser: Browser

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async start(): Promise<ConsoleBrowser> {
    if (chromiumPath === null) throw new Error('no browser is installed')
    return new ConsoleBrowser(
      await chromium.launch({
        executablePath: chromiumPath,
        // A container runs as root and has little shared memory.
        args: ['--no-sandbox', '--disable-dev-shm-usage'],
      }),
    )
  }

  /** @param url with the place, such as `http://127.0.0.1:8402/#/coin/BTC` */
  async open(url: string, options: PageOptions = {}): Promise<WatchedPage> {
    const { width = 1440, height = 1_000, colorScheme = 'dark', before } = options
    const context = await this.#browser.newContext({
      viewport: { width, height },
      ...{ colorScheme, reducedMotion: 'reduce' },
    })
    // A limit for a hang, as those of tests.
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    const faults: string[] = []
    const { origin } = new URL(url)
    page.on('console', (message) => {
      // A browser reports the status of a quote, and of what is refused before the sign-in, as an error.
      const isExpected =
        /^Failed to load resource: .* 402/.test(message.text()) ||
        message.location().url.endsWith('/console/service.json')
      if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text())
    })
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('request', (request) => {
      const address = request.url()
      if (!/^(data|blob):/.test(address) && !address.startsWith(`${origin}/`))
        faults.push(`a request to another host: ${address}`)
    })
    if (before !== undefined) await page.addInitScript(before)
    await page.goto(url)
    return { page, faults }
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }
}

/** Rules of accessibility, of all or of some, that a page breaks, with the first element of each. */
export async function inaccessible(
  page: Page,
  some?: readonly string[],
): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page })
    .options({
      // The others would be described to the last element.
      resultTypes: ['violations'],
      ...(some !== undefined && { runOnly: { type: 'rule', values: [...some] } }),
    })
    .analyze()
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help} (${nodes.length}, first ${nodes[0]?.target.join(' ')})`,
  )
}

/** By how many pixels a page is wider than its window. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth')
}
