import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { ConsoleBrowser, chromiumPath, inaccessible } from './support/console-browser.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, oneCoin, startRig, until, untilSold } from './support/service.ts'

const TOKEN = 'f'.repeat(40)

/** The operator's desk behind a token, as an operator uses it. */
describe.skipIf(chromiumPath === null)("the operator's desk in a browser", () => {
  let folder: string
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-desk-'))
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, `${TOKEN}\n`)
    rig = await startRig({
      coins: oneCoin,
      flags: [...mainMarketOnly, '--admin-token-file', tokenFile],
    })
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, pulse.contract, 'BTC')
  })

  afterEach(() => browser?.closePages())

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
    await rm(folder, { recursive: true })
  })

  async function signedIn(place: string) {
    const watched = await browser.open(`${rig.adminUrl}/${place}`)
    await watched.page.getByLabel('Admin token').fill(TOKEN)
    await watched.page.getByRole('button', { name: 'Sign in' }).click()
    await watched.page.locator('nav').waitFor()
    return watched
  }

  async function endMaintenance(): Promise<void> {
    await fetch(`${rig.adminUrl}/maintenance`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ on: false }),
    })
  }

  test('shows a sign-in and nothing else without the token', async () => {
    const { page } = await browser.open(`${rig.adminUrl}/#/money`)
    const asked: string[] = []
    page.on('response', (response) => {
      if (response.ok()) asked.push(new URL(response.url()).pathname)
    })
    await page.reload()
    await page.getByLabel('Admin token').waitFor()
    expect(await page.locator('nav').count()).toBe(0)
    expect(await inaccessible(page)).toEqual([])
    const shown = asked.filter(
      (path) => !/^\/(favicon.svg|session|console\/[\w-]+-\w{8}\.(js|css))?$/.test(path),
    )
    expect(shown, 'what was answered besides the page').toEqual([])
    await page.getByLabel('Admin token').fill('a wrong token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The admin token is wrong.').waitFor()
  })

  test('begins and ends maintenance after a question', async () => {
    onTestFinished(endMaintenance)
    const { page, faults } = await signedIn('#/control')
    const begin = page.getByRole('button', { name: 'Begin maintenance' })
    await begin.click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.locator(':focus').textContent()).toBe('Begin maintenance')
    expect((await fetch(`${rig.url}/pulse/BTC`)).status).toBe(402)
    await begin.click()
    await page.getByRole('group', { name: /refused with 503/ }).waitFor()
    await begin.click()
    await page.getByRole('button', { name: 'End maintenance' }).waitFor()
    expect(await page.locator(':focus').textContent()).toBe('End maintenance')
    expect((await fetch(`${rig.url}/pulse/BTC`)).status).toBe(503)
    await page.getByRole('button', { name: 'End maintenance' }).click()
    await page.getByRole('button', { name: 'End maintenance' }).click()
    await begin.waitFor()
    await until('it sells again', async () => (await fetch(`${rig.url}/pulse/BTC`)).status === 402)
    expect(faults).toEqual([])
  })

  test('runs the doctor and shows its findings', async () => {
    const { page } = await signedIn('#/control')
    const run = page.getByRole('button', { name: 'Run the doctor' })
    await run.click()
    await run.click()
    await page.getByText('The doctor was started.').waitFor()
    await page.getByRole('rowheader', { name: 'data directory' }).waitFor({ timeout: 60_000 })
    expect(await inaccessible(page)).toEqual([])
  })

  test('ends the session', async () => {
    const { page } = await signedIn('#/control')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Admin token').waitFor()
    const status = await page.evaluate(async () => (await fetch('/desk/control')).status)
    expect(status).toBe(404)
  })

  test('restarts the engine, which Health shows', async () => {
    const { page } = await signedIn('#/control')
    const restart = page.getByRole('button', { name: 'Restart engine' })
    await restart.click()
    await restart.click()
    await page.getByText('The engine restarts.').waitFor()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByRole('rowheader', { name: 'venue' }).waitFor()
    await untilSold(rig.url, pulse.contract, 'BTC')
  })
})
