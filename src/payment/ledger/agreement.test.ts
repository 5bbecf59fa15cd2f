import { expect, test } from 'vitest'
import { differencesOf, disagreement } from './agreement.ts'

const settings = { 'pay-to': '0xA', 'price of pulse': '20000' }

test('gateways with the same settings agree, whatever their order', () => {
  const others = [{ id: 'b', settings: { 'price of pulse': '20000', 'pay-to': '0xA' } }]
  expect(differencesOf(settings, others)).toEqual([])
  expect(differencesOf(settings, [])).toEqual([])
})

test('a difference names the setting, both values and the gateway', () => {
  const others = [
    { id: 'b', settings },
    { id: 'c', settings: { 'pay-to': '0xB', network: 'base' } },
  ]
  expect(differencesOf(settings, others)).toEqual([
    { setting: 'network', own: 'absent', theirs: 'base', gateway: 'c' },
    { setting: 'pay-to', own: '0xA', theirs: '0xB', gateway: 'c' },
    { setting: 'price of pulse', own: '20000', theirs: 'absent', gateway: 'c' },
  ])
  expect(disagreement(differencesOf(settings, others))).toContain(
    '\npay-to: 0xA here, 0xB at gateway c\n',
  )
})
