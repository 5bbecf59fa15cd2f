import { expect, test } from 'vitest'
import { PayerConcurrency } from './payer-concurrency.ts'

test('settlements of one payer run in few lanes, and others do not wait for them', async () => {
  const lanes = new PayerConcurrency()
  const ends: (() => void)[] = []
  const begun: string[] = []
  let atOnce = 2
  const run = (payer: string, name: string) =>
    lanes.run(
      payer,
      () => atOnce,
      async (hasWaited) => {
        begun.push(`${name} ${hasWaited}`)
        await new Promise<void>((resolve) => ends.push(resolve))
        return name
      },
    )
  const [first, ...others] = ['1', '2', '3', '4', '5'].map((name) => run('0xB', name))
  const stranger = run('0xD', 'stranger')
  expect(begun).toEqual(['1 false', '2 false', 'stranger false'])
  // It has paid: three may run from now on.
  atOnce = 3
  ends[0]?.()
  expect(await first).toBe('1')
  expect(begun.slice(3)).toEqual(['3 true', '4 true'])
  for (const end of ends.slice(1)) end()
  await stranger
  await Promise.all(others.slice(0, 3))
  expect(begun.at(-1)).toBe('5 true')
  ends.at(-1)?.()
  expect(await Promise.all(others)).toEqual(['2', '3', '4', '5'])
})

test('a settlement that fails makes room for the next', async () => {
  const lanes = new PayerConcurrency()
  const one = () => 1
  const failing = lanes.run('0xB', one, () => Promise.reject(new Error('the node is away')))
  const next = lanes.run('0xB', one, async (hasWaited) => hasWaited)
  await expect(failing).rejects.toThrow('the node is away')
  expect(await next).toBe(true)
})
