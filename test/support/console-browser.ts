import { existsSync } from 'node:fs'
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, BrowserContext, Page } from 'playwright-core'
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
  /** Its time is under `page.clock`: it goes on by itself until the test stops it or lets more of it pass. */
  readonly hasOwnTime?: boolean
}

export type WatchedPage = {
  readonly page: Page
  /** Errors of scripts, messages of the console, violations of the policy, requests to other hosts. */
  readonly faults: readonly string[]
}

const WINDOW = { width: 1440, height: 1_000 }
const THEME = 'dark'

/** A headless browser for the tests of one file; `close` ends it with all its pages. */
export class ConsoleBrowser {
  readonly #browser: Browser
  /** Of all pages but those with their own time: each further one loads and compiles the code of the console again. */
  readonly #shared: BrowserContext

  private constructor(browser: Browser, shared: BrowserContext) {
    this.#browser = browser
    this.#shared = shared
  }

  static async start(): Promise<ConsoleBrowser> {
    if (chromiumPath === null) throw new Error('no browser is installed')
    const browser = await chromium.launch({
      executablePath: chromiumPath,
      // A container runs as root and has little shared memory.
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    })
    return new ConsoleBrowser(browser, await newContext(browser))
  }

  /** @param url with the place, such as `http://127.0.0.1:8402/#/coin/BTC` */
  async open(url: string, options: PageOptions = {}): Promise<WatchedPage> {
    const { width = WINDOW.width, height = WINDOW.height, colorScheme = THEME } = options
    const { before, hasOwnTime = false } = options
    const context = hasOwnTime ? await newContext(this.#browser) : this.#shared
    if (hasOwnTime) await context.clock.install()
    const page = await context.newPage()
    if (width !== WINDOW.width || height !== WINDOW.height)
      await page.setViewportSize({ width, height })
    if (colorScheme !== THEME) await page.emulateMedia({ colorScheme })
    const faults: string[] = []
    page.on('console', (message) => {
      // A browser reports the status of a quote, and of what is refused before the sign-in, as an error.
      const isExpected =
        /^Failed to load resource: .* 402/.test(message.text()) ||
        message.location().url.endsWith('/console/service.json')
      if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text())
    })
    page.on('pageerror', ({ message }) => faults.push(message))
    const { origin } = new URL(url)
    page.on('request', (request) => {
      const address = request.url()
      if (!/^(data|blob):/.test(address) && !address.startsWith(`${origin}/`))
        faults.push(`a request to another host: ${address}`)
    })
    if (before !== undefined) await page.addInitScript(before)
    await page.goto(url)
    return { page, faults }
  }

  /** Ends all pages, which else draw each new figure, and the sessions of their users. */
  async closePages(): Promise<void> {
    for (const context of this.#browser.contexts())
      if (context === this.#shared) for (const page of context.pages()) await page.close()
      else await context.close()
    await this.#shared.clearCookies()
  }

  async close(): Promise<void> {
    await this.#browser.close()
  }
}

async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: WINDOW,
    colorScheme: THEME,
    reducedMotion: 'reduce',
    hasTouch: true,
  })
  // A limit for a hang, as those of tests.
  context.setDefaultTimeout(120_000)
  return context
}

/** Rules of accessibility, of all or of some, that a page breaks, with the first element of each. */
export async function inaccessible(
  page: Page,
  some?: readonly string[],
): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page })
    // Else it puts its result together in a further page. It differs for frames of other hosts, and the console has none.
    .setLegacyMode()
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

/** Texts of cells that end in an ellipsis. */
export function cutTexts(page: Page): Promise<readonly string[]> {
  return page
    .locator('table.fixed tr > *')
    .evaluateAll((cells) =>
      cells
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ textContent }) => textContent ?? ''),
    )
}

/** Heads of tables that take more lines than they have words. */
export function brokenWords(page: Page): Promise<readonly string[]> {
  return page.evaluate<
    readonly string[]
  >(`[...document.querySelectorAll('main th')].flatMap((head) => {
    const texts = document.createTreeWalker(head, NodeFilter.SHOW_TEXT)
    let [lines, bottom] = [0, -Infinity]
    while (texts.nextNode()) {
      const range = document.createRange()
      range.selectNodeContents(texts.currentNode)
      for (const line of range.getClientRects()) {
        if (line.top > bottom - 4) lines += 1
        bottom = Math.max(bottom, line.bottom)
      }
    }
    const words = head.textContent.split(/[^\\p{L}\\p{N}.]+/u).filter((word) => word !== '')
    return lines > Math.max(1, words.length) ? [head.textContent] : []
  })`)
}
