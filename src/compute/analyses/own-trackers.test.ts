import { expect, test } from 'vitest'
import { documentKey, WHOLE_MARKET } from '../../domain/document.ts'
import type { DocumentKinds } from '../analysis.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { externalEvents } from '../testing/external-events.ts'
import { NOW_MS, warmTape } from '../testing/tape.ts'
import { documentKinds } from './registry.ts'

const alone: readonly (readonly [string, DocumentKinds])[] = [
  ...documentKinds.coin.map((one) => [one.contract.id, { coin: [one], market: [] }] as const),
  ...documentKinds.market.map((one) => [one.contract.id, { coin: [], market: [one] }] as const),
]

test.each(alone)('/%s lists the trackers that it reads', (id, only) => {
  const processor = new Processor(only, 'test')
  for (const batch of [...warmTape('BTC'), externalEvents('BTC', 104, NOW_MS)])
    processor.process(batch)
  if (only.coin.length === 0) {
    expect(processor.gather(id, NOW_MS).rendering.key).toBe(documentKey(id, WHOLE_MARKET))
    return
  }
  const phases = Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(NOW_MS)])
  expect(phases.flat().map(({ key }) => key)).toEqual([documentKey(id, 'BTC')])
})
