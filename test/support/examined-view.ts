import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { SAMPLE_DELAY_MS } from '../../src/api/console/delayed-documents.ts'
import { brokenWords, cutTexts, inaccessible, sidewaysScroll } from './console-browser.ts'

const WIDTHS = [1440, 820, 390] as const
/** By every rule in one window, and by those that depend on theme and width in the opposite one. */
const EXAMINED = {
  dark: { width: 1440 },
  light: { width: 390, rules: ['color-contrast', 'scrollable-region-focusable'] },
} as const

/** Resolves when the panels of a view have got their documents, of which the public ones begin a minute after a start. */
export async function untilFilled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor()
  await page
    .locator('[aria-busy=true]')
    .first()
    .waitFor({ state: 'detached', timeout: 2 * SAMPLE_DELAY_MS })
}

/**
 * Fails if the view in a page scrolls sideways in a theme and width, cuts a text, or breaks a rule of accessibility.
 * @param where name of the view, for the message
 */
export async function examineView(
  page: Page,
  where: string,
  { isForBarriers }: { readonly isForBarriers: boolean },
): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 1_000 })
      const message = `${where} at ${width} px, ${colorScheme}`
      // A chart is drawn in its new width a few frames later.
      await expect.poll(() => sidewaysScroll(page), { message }).toBeLessThanOrEqual(0)
      expect(await cutTexts(page), message).toEqual([])
      expect(await brokenWords(page), message).toEqual([])
      const examined: { width: number; rules?: readonly string[] } = EXAMINED[colorScheme]
      if (isForBarriers && width === examined.width)
        expect(await inaccessible(page, examined.rules), message).toEqual([])
    }
  }
}
