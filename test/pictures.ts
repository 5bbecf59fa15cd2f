/**
 * `npm run pictures`: starts the demo, opens its pages in Chromium and writes the pictures of the documentation, light and
 * dark, to docs/pictures.
 */
import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { end } from '../src/roles/child-process.ts'
import { ConsoleBrowser } from './support/console-browser.ts'

const FOLDER = 'docs/pictures'
const VIEWPORT = { width: 1280, height: 860 }

/** The name of each picture, the place that it shows on the admin port, and what is drawn last there. */
const pictures = [
  ['market', '#/market', 'th:has-text("Contribution")'],
  ['coin', '#/coin/BTC', '.candle-chart canvas'],
] as const
/** The regime is known when 60 % of the coins have a week of history, after some four minutes. */
const DRAWN_MS_MAX = 400_000
/** For charts that are drawn in the next frame. */
const SETTLING_MS = 1_000

const demo = spawn(process.execPath, ['dist/main.js', 'demo'], {
  stdio: ['ignore', 'ignore', 'pipe'],
})
try {
  const url = await deskOf(demo.stderr)
  const browser = await ConsoleBrowser.start()
  try {
    await mkdir(FOLDER, { recursive: true })
    for (const [name, place, drawn] of pictures)
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await browser.open(`${url}${place}`, { ...VIEWPORT, colorScheme })
        await page.locator('main h1').waitFor()
        await page.locator(drawn).first().waitFor({ timeout: DRAWN_MS_MAX })
        await page.waitForTimeout(SETTLING_MS)
        const path = `${FOLDER}/${name}-${colorScheme}.png`
        await page.screenshot({ path })
        await page.close()
        process.stdout.write(`${path}\n`)
      }
  } finally {
    await browser.close()
  }
} finally {
  await end(demo)
}

/** Copies the demo's lines, and returns the address of the operator's desk when it is printed. */
async function deskOf(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    process.stderr.write(`${line}\n`)
    const [, url] = /^ {2}operator's desk +(\S+)$/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error('the demo ended without the address of the operator’s desk')
}
