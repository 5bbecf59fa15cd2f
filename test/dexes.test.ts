import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { documentKey, viewOf } from '../src/domain/document.ts'
import { SimulatedService } from './support/simulated-service.ts'

const WARM_UP_SECONDS = 340

/** Builder-deployed dexes (HIP-3): their coins have names with a colon, and some are on several of them. */
describe('a dex that is followed beside the venue', () => {
  let folder: string
  let service: SimulatedService

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-dexes-'))
    service = new SimulatedService({
      seed: 5,
      coins: 2,
      dataDir: folder,
      version: '1.2.3',
      dexes: ['flx'],
    })
    service.run(WARM_UP_SECONDS)
  })

  afterAll(() => {
    service.stop()
    rmSync(folder, { recursive: true })
  })

  test('has its coins listed with its name, without those that are delisted or of other dexes', () => {
    const [first, second, ...others] = service.replica.listed
    expect([first, second]).toEqual(['BTC', 'ETH'])
    expect(others).toEqual(['flx:TSLA', 'flx:GOLD', 'flx:OIL'])
    expect(service.replica.coins()).toEqual(['BTC', 'ETH', 'flx:GOLD', 'flx:OIL', 'flx:TSLA'])
  })

  test.each(['flx:GOLD', 'FLX:GOLD', 'flx:gold', 'flx:GOLD-PERP'])('finds %s', (ticker) => {
    expect(service.replica.resolve(ticker)).toEqual({ coin: 'flx:GOLD' })
  })

  test.each(['GOLD', 'xyz:GOLD', 'flx:SILVER', 'flx:', ':GOLD', 'flx:BTC'])(
    'does not take %s for anything',
    (ticker) => {
      expect(service.replica.resolve(ticker)).toBeUndefined()
    },
  )

  test('does not stand in the way of a coin of that name on the venue', () => {
    expect(service.replica.resolve('BTC')).toEqual({ coin: 'BTC' })
  })

  test.each(['pulse', 'spread', 'funding', 'oi', 'liquidations'])(
    '/%s answers about its coin',
    (id) => {
      const contract = contracts.find((one) => one.id === id)
      const document = service.replica.document(documentKey(id, 'flx:GOLD'))
      const answer = document && viewOf(document, contract?.defaultView ?? '')
      if (document === undefined || answer?.kind !== 'answer')
        throw new Error(`no answer: ${JSON.stringify(answer)}`)
      const text = fillDocument(document, answer, {
        nowMs: service.clock.nowMs(),
        executionMs: 0.1,
        coinsAvailable: 5,
      }).toString('utf8')
      expect(JSON.parse(text).coin).toBe('flx:GOLD')
    },
  )
})
