import { text as textOf } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import type { WatchedPage } from './support/console-browser.ts'
import {
  ConsoleBrowser,
  chromiumPath,
  inaccessible,
  sidewaysScroll,
} from './support/console-browser.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, startRig, untilSold } from './support/service.ts'

const BTC_AND_ETH = ['--coins', '2']
const FUNDS = 1_000_000n
const PRICE = 25_000n
/** Signs receipts; holds nothing. */
const RECEIPT_KEY = `0x${'5e'.repeat(32)}` as const

describe.skipIf(chromiumPath === null)('a wallet in the browser', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig({
      coins: BTC_AND_ETH,
      flags: [...mainMarketOnly, '--receipt-key', RECEIPT_KEY],
    })
    browser = await ConsoleBrowser.start()
    for (const coin of ['BTC', 'ETH']) await untilSold(rig.url, pulse.contract, coin)
  })

  afterEach(() => browser?.closePages())

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
  })

  /** A page with a wallet of its own, which signs with a local key, on another network at first. */
  async function openWithWallet(place: string, { declines = false, hasOwnTime = false } = {}) {
    const buyer = newBuyer()
    await rig.chain.fundUsdc(buyer.address, FUNDS)
    const watched: WatchedPage = await browser.open(`${rig.url}/favicon.svg`, {
      hasOwnTime,
    })
    const { page } = watched
    let signatures = 0
    await page.exposeFunction('signTyped', async (text: string) => {
      if (declines) return null
      signatures += 1
      const { domain, types, primaryType, message } = JSON.parse(text)
      return buyer.signTypedData({ domain, types, primaryType, message })
    })
    await page.addInitScript(announcedWallet(buyer.address))
    await page.goto(rig.url + place)
    const spent = async () => FUNDS - (await rig.chain.balanceOf(buyer.address))
    return { ...watched, buyer, spent, signatures: () => signatures }
  }

  const pay = (page: Page) => page.getByRole('button', { name: 'Pay 0.025 USDC with Test Wallet' })
  const answer = (page: Page) => page.locator('[data-purchase=bought]')

  test('buys an answer for the terms that are shown, and its receipt is proven', async () => {
    const { page, faults, spent, signatures } = await openWithWallet('/#/buy/%2Fpulse%2FETH')
    const { merchant } = rig.chain.accounts
    await pay(page).waitFor()
    const terms = await page.locator('.terms').textContent()
    for (const part of ['0.025 USDC', 'Base', merchant.address, '120 s'])
      expect(terms).toContain(part)
    expect(await spent()).toBe(0n)

    await pay(page).click()
    await answer(page).waitFor()
    expect(await spent()).toBe(PRICE)
    expect(signatures()).toBe(1)
    expect(await answer(page).textContent()).toContain('"ETH"')
    expect(await answer(page).getByRole('status').textContent()).toBe('The answer has arrived.')
    expect(await page.locator(':focus').getAttribute('data-purchase')).toBe('bought')
    const explorer = await answer(page).locator('.receipt a').first().getAttribute('href')
    expect(explorer).toMatch(/^https:\/\/basescan\.org\/tx\/0x[0-9a-f]{64}$/)
    expect(await inaccessible(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 1_000 })
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0)
    expect(faults).toEqual([])
  })

  test('saves an answer that the check verifies, and no longer after a change', async () => {
    const { page, faults } = await openWithWallet('/#/buy/%2Fpulse%2FETH')
    await pay(page).click()
    await answer(page).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save answer and receipt' }).click(),
    ])
    const saved = await textOf(await download.createReadStream())
    await page.goto(`${rig.url}/#/proof`)
    const result = page.locator('.check-result')
    const paste = async (text: string) => {
      await page.locator('textarea').fill(text)
      await result.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Check' }).click()
    }
    const choose = async (text: string) => {
      const buffer = Buffer.from(text)
      const file = { name: 'answer.json', mimeType: 'application/json', buffer }
      await page.locator('input[type=file]').setInputFiles(file)
    }
    const drop = async (text: string) => {
      await page.locator('.drop').waitFor()
      await page.evaluate<void>(`{
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File([${JSON.stringify(text)}], 'answer.json'))
        const event = new DragEvent('drop', { bubbles: true, dataTransfer })
        document.querySelector('.drop').dispatchEvent(event)
      }`)
    }
    const verdictOf = async (give: Promise<void>) => {
      await give
      await result.waitFor()
      return {
        verdict: await result.getAttribute('data-verdict'),
        fails: await result.locator('.check-fails').allTextContents(),
      }
    }
    const tampered = saved.replace(/"current": ([\d.]+)/, (_all, price) => `"current": ${price}9`)
    expect(tampered).not.toBe(saved)
    for (const give of [paste, choose, drop]) {
      expect(await verdictOf(give(saved))).toEqual({ verdict: 'verified', fails: [] })
      await page.reload()
      const { verdict, fails } = await verdictOf(give(tampered))
      expect(verdict).toBe('contradicted')
      expect(fails).toEqual([expect.stringContaining('The answer was changed')])
    }
    expect(await inaccessible(page)).toEqual([])
    expect(faults).toEqual([])
  })

  test('that declines to sign is charged nothing, and the page says so', async () => {
    const { page, spent } = await openWithWallet('/#/buy/%2Fpulse%2FETH', { declines: true })
    await pay(page).click()
    await page.getByRole('heading', { name: 'Nothing was charged' }).waitFor()
    expect(await page.locator('.notice-panel').textContent()).toContain('You declined')
    expect(await spent()).toBe(0n)
    await pay(page).waitFor()
  })

  test('pays once, also when the answer is lost and the page is loaded again', async () => {
    const { page, spent, signatures } = await openWithWallet('/#/buy/%2Fpulse%2FETH', {
      hasOwnTime: true,
    })
    await pay(page).waitFor()
    // The payment reaches the service, and no reply comes back.
    await page.route('**/pulse/ETH', async (route) => {
      if (route.request().headers()['payment-signature'] === undefined) return route.continue()
      await route.fetch()
      return route.abort()
    })
    await pay(page).click()
    const again = page.getByRole('button', { name: 'Send the same payment again' })
    // The page sends it six times, in growing intervals.
    await expect
      .poll(() => page.clock.runFor(1_000).then(() => again.count()), { timeout: 60_000 })
      .toBe(1)
    expect(await spent()).toBe(PRICE)
    await page.unroute('**/pulse/ETH')
    await page.reload()
    await again.waitFor()
    expect(await pay(page).count(), 'no second payment is offered').toBe(0)
    await again.click()
    await answer(page).waitFor()
    expect(await spent()).toBe(PRICE)
    expect(signatures()).toBe(1)
  })

  test('buys the answer of a paid path that was opened, and the view of the coin shows it', async () => {
    const call = 'ETH?timeframes=15m,1h,4h'
    const path = `/pulse/${call}`
    await untilSold(rig.url, pulse.contract, call)
    const { page, spent } = await openWithWallet(path)
    await pay(page).click()
    await answer(page).waitFor()
    expect(await spent()).toBe(PRICE)
    await page.getByRole('link', { name: 'Show in the view of ETH' }).click()
    await page.locator(`[data-document="${path}"][data-version^=bought]`).waitFor()
  })

  test('pays into what the operator sees of the money', async () => {
    const { page, buyer } = await openWithWallet('/#/buy/%2Fpulse%2FETH')
    await pay(page).click()
    await answer(page).waitFor()
    const { page: desk } = await browser.open(`${rig.adminUrl}/#/money`)
    const wallets = desk.getByRole('region', { name: 'Table: Largest buyers' })
    const wallet = wallets.locator('tr', { has: desk.locator(`code[title="${buyer.address}" i]`) })
    await wallet.waitFor()
    expect(await wallet.locator('td').allTextContents()).toEqual(['1', '0.025'])
    const table = (name: string) => desk.getByRole('region', { name: `Table: ${name}` })
    const [network] = await table('Earnings by analysis and network')
      .locator('tr', { hasText: '/pulse/:coin' })
      .locator('td')
      .allTextContents()
    expect(network).toBe('Base')
    const [requests, quotes, sales] = await table('Requests, quotes and sales by analysis')
      .locator('tr', { hasText: 'pulse' })
      .locator('td')
      .allTextContents()
    expect(Number(requests)).toBeGreaterThan(Number(quotes))
    expect(Number(quotes)).toBeGreaterThanOrEqual(Number(sales))
    expect(Number(sales)).toBeGreaterThan(0)
    expect(await table('Gas accounts').locator('tbody th').allTextContents()).toEqual(['Base'])
    const today = table('Earnings by day').locator('tbody tr').first().locator('td')
    expect(Number((await today.allTextContents())[1])).toBeGreaterThanOrEqual(0.025)
  })

  test('is not needed to see why a path has no answer, and what to do', async () => {
    const { page } = await openWithWallet('/pulse/ETHH')
    const suggestion = page.locator('.notice-panel').getByRole('link', { name: 'ETH', exact: true })
    await suggestion.click()
    await pay(page).waitFor()
  })

  test('that is missing leaves the ways of an agent', async () => {
    const { page, faults } = await browser.open(`${rig.url}/#/buy/%2Fpulse%2FETH`)
    await page.getByText('No browser wallet was found.').waitFor()
    expect(await page.locator('.command code').allTextContents()).toContain(
      `curl -s ${rig.url}/pulse/ETH`,
    )
    expect(faults).toEqual([])
  })

  test('is of the signer that the service names', async () => {
    const facts = await (await fetch(`${rig.url}/console/service.json`)).json()
    expect(facts).toMatchObject({ receiptSigner: privateKeyToAccount(RECEIPT_KEY).address })
  })
})

/** A wallet by EIP-1193 that announces itself by EIP-6963 and knows the chain only after it was added. */
function announcedWallet(address: string): string {
  return `
    const known = new Set(['0x1'])
    let chain = '0x1'
    const refuse = (code, text) => { throw Object.assign(new Error(text), { code }) }
    const provider = {
      async request({ method, params = [] }) {
        switch (method) {
          case 'eth_requestAccounts': return ['${address}']
          case 'eth_chainId': return chain
          case 'wallet_addEthereumChain': known.add(params[0].chainId); return null
          case 'wallet_switchEthereumChain':
            if (!known.has(params[0].chainId)) refuse(4902, 'Unrecognized chain')
            chain = params[0].chainId
            return null
          case 'eth_signTypedData_v4':
            return (await globalThis.signTyped(params[1])) ?? refuse(4001, 'User rejected the request.')
          default: refuse(4200, 'unknown method ' + method)
        }
      },
    }
    const info = { uuid: '00000000-0000-4000-8000-000000000001', name: 'Test Wallet', icon: 'data:,', rdns: 'test.wallet' }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  `
}
