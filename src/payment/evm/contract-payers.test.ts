import { describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import type { ContractPayersOptions, FailedGas } from './contract-payers.ts'
import { ContractPayers } from './contract-payers.ts'

const CODE = '0xc0de'
const HOUR_MS = 3_600_000
const SUSPENDED = 'invalid_exact_evm_contract_wallets_suspended'

function rig(changes: Partial<ContractPayersOptions> = {}) {
  const clock = new ManualClock()
  const events: FailedGas[] = []
  const options = {
    network: 'eip155:8453',
    failures: StoredFailedSettlements.inMemory(),
    isTaken: true,
    gasPerHourMax: 1_000_000n,
    clock,
    emit: (event: FailedGas) => events.push(event),
    ...changes,
  }
  return { clock, events, options, payers: new ContractPayers(options) }
}

const afterPromises = () => new Promise((done) => setImmediate(done))

const burnt = (payer: string, changes = {}) => ({
  ...{ payer, code: CODE, transaction: `0xabc${payer}`, reserved: null, gas: 300_000n, strikes: 3 },
  ...changes,
})

test('a failure that cannot be recorded is reported and thrown', async () => {
  const { payers, options, events } = rig()
  const cause = new Error('the database is away')
  vi.spyOn(options.failures, 'failed').mockRejectedValueOnce(cause)
  await expect(payers.failed(burnt('0x1'))).rejects.toThrow(cause)
  expect(events).toEqual([{ kind: 'unrecorded', transaction: '0xabc0x1', cause }])
})

test('a failure that is recorded is not undone by a suspension that cannot be read', async () => {
  const { payers, options, events } = rig({ gasPerHourMax: 300_000n })
  const reserved = await payers.reserve('0x1', CODE)
  const cause = new Error('the database is away')
  vi.spyOn(options.failures, 'ofContracts').mockRejectedValue(cause)
  await payers.failed(burnt('0x1', { reserved }))
  expect(events, 'and it is reported').toMatchObject([{ kind: 'burnt' }, { kind: 'unread', cause }])
  expect(await payers.barred('0x1')).toBe('invalid_exact_evm_payer_barred')
  expect(await payers.reserve('0x2', CODE), 'the gas of the hour is used up').toBeNull()
})

test('a suspension that cannot be read at the start is reported', async () => {
  const failures = StoredFailedSettlements.inMemory()
  const cause = new Error('the database is away')
  vi.spyOn(failures, 'ofContracts').mockRejectedValue(cause)
  const { events } = rig({ failures })
  await afterPromises()
  expect(events).toEqual([{ kind: 'unread', cause }])
})

test('a reservation that cannot be released is reported', async () => {
  const { payers, options, events } = rig()
  const reserved = await payers.reserve('0x1', CODE)
  const cause = new Error('the database is away')
  vi.spyOn(options.failures, 'release').mockRejectedValue(cause)
  payers.release(reserved)
  await afterPromises()
  expect(events).toEqual([{ kind: 'unreleased', cause }])
})

describe('contract wallets', () => {
  test('reserve their gas before they are sent, and no more than the hour has', async () => {
    const { payers, clock } = rig()
    const reserved = await Promise.all(
      ['0x1', '0x2', '0x3'].map((payer) => payers.reserve(payer, CODE)),
    )
    expect(await payers.reserve('0x4', CODE)).toBeNull()
    expect(payers.objection(), 'that is no suspension').toBeNull()
    payers.release(reserved[0] ?? null)
    expect(await payers.reserve('0x4', CODE)).not.toBeNull()
    clock.advance(HOUR_MS)
    expect(await payers.reserve('0x5', CODE)).not.toBeNull()
  })

  test('are suspended here when other gateways have burnt the gas of the hour', async () => {
    const { payers, options, events } = rig()
    const other = new ContractPayers(options)
    for (const payer of ['0x1', '0x2', '0x3']) await other.failed(burnt(payer))
    events.splice(0)
    expect(payers.objection(), 'not known yet').toBeNull()
    expect(await payers.reserve('0x4', CODE)).toBeNull()
    expect(payers.objection()).toBe(SUSPENDED)
    expect(events).toMatchObject([{ kind: 'suspended' }])
  })

  test('are suspended when the gas of the hour is burnt, until enough of it is an hour old', async () => {
    const { payers, clock, events, options } = rig()
    for (const payer of ['0x1', '0x2', '0x3']) {
      expect(payers.objection()).toBeNull()
      await payers.failed(burnt(payer, { reserved: await payers.reserve(payer, CODE) }))
      clock.advance(60_000)
    }
    expect(await payers.refusal('0x9', '0xother')).toBe(SUSPENDED)
    expect(await payers.refusal('0x9', null), 'a key').toBeNull()
    const untilMs = clock.nowMs() - 180_000 + HOUR_MS
    expect(payers.suspendedUntilMs).toBe(untilMs)
    expect(events.filter(({ kind }) => kind === 'suspended')).toEqual([
      { kind: 'suspended', untilMs },
    ])
    const restarted = new ContractPayers(options)
    await expect.poll(() => restarted.objection(), { message: 'after a restart' }).toBe(SUSPENDED)
    clock.advance(untilMs - clock.nowMs())
    expect(payers.objection()).toBeNull()
    await payers.failed(burnt('0x5'))
    expect(events.filter(({ kind }) => kind === 'suspended')).toHaveLength(2)
  })

  test('are not suspended for what keys burn', async () => {
    const { payers, events } = rig()
    for (let count = 0; count < 10; count += 1)
      await payers.failed(burnt(`0x${count}`, { code: null }))
    expect(payers.objection()).toBeNull()
    expect(events).toHaveLength(10)
    expect(events[0]).toEqual({ kind: 'burnt', payer: '0x0', by: 'key', gas: 300_000n })
  })

  test('can be turned off, which is no suspension', async () => {
    const { payers } = rig({ isTaken: false })
    expect(await payers.refusal('0x1', CODE)).toBe(
      'invalid_exact_evm_contract_wallets_not_accepted',
    )
    expect(payers.suspendedUntilMs).toBeNull()
  })

  test('are barred one by one, and the third takes its code with it', async () => {
    const { payers } = rig({ gasPerHourMax: 100_000_000n })
    for (const payer of ['0x1', '0x2', '0x3']) {
      expect(await payers.refusal('0x9', CODE)).toBeNull()
      await payers.failed(burnt(payer))
      expect(await payers.refusal(payer, null)).toBe('invalid_exact_evm_payer_barred')
    }
    expect(await payers.refusal('0x9', CODE)).toBe('invalid_exact_evm_contract_wallet_barred')
    expect(await payers.refusal('0x9', '0xother')).toBeNull()
  })
})
