import { expect, test } from 'vitest'
import { PayerConcurrency } from './payer-concurrency.ts'

test('settlements of one payer run in few lanes, and others do not wait for them', async () => {
  const lanes = new PayerConcurrency()
  const ends: (() => void)[] = []
  const begun: string[] = []
  let atOnce = 2
  const run = (payer: string, name: string) =>
    lanes.run(payer, { atLeast: 1, current: async () => atOnce }, async (hasWaited) => {
      begun.push(`${name} ${hasWaited}`)
      await new Promise<void>((resolve) => ends.push(resolve))
      return name
    })
  const [first, ...others] = ['1', '2', '3', '4', '5'].map((name) => run('0xB', name))
  const stranger = run('0xD', 'stranger')
  await expect.poll(() => begun).toHaveLength(3)
  expect(begun).toEqual(['1 false', 'stranger false', '2 false'])
  // It has paid: three may run from now on.
  atOnce = 3
  ends[0]?.()
  expect(await first).toBe('1')
  await expect.poll(() => begun.slice(3)).toEqual(['3 true', '4 true'])
  for (const end of ends.slice(1)) end()
  await stranger
  await Promise.all(others.slice(0, 3))
  await expect.poll(() => begun.at(-1)).toBe('5 true')
  ends.at(-1)?.()
  expect(await Promise.all(others)).toEqual(['2', '3', '4', '5'])
})

test('a settlement that fails makes room for the next', async () => {
  const lanes = new PayerConcurrency()
  const one = { atLeast: 1, current: async () => 1 }
  let fail = (_cause: Error) => {}
  const failing = lanes.run('0xB', one, () => new Promise((_, reject) => (fail = reject)))
  const next = lanes.run('0xB', one, async (hasWaited) => hasWaited)
  await new Promise((resolve) => setImmediate(resolve))
  fail(new Error('the node is away'))
  await expect(failing).rejects.toThrow('the node is away')
  expect(await next).toBe(true)
})

test('while the limit cannot be read, those that wait run one at a time', async () => {
  const lanes = new PayerConcurrency()
  let isReadable = true
  const current = async () => {
    if (!isReadable) throw new Error('no database')
    return 1
  }
  const ends: (() => void)[] = []
  const run = () =>
    lanes.run('0xB', { atLeast: 1, current }, () => new Promise<void>((end) => ends.push(end)))
  const all = [run(), run(), run()]
  await new Promise((resolve) => setImmediate(resolve))
  isReadable = false
  all.push(run())
  for (const begun of [1, 2, 3, 4]) {
    expect(ends).toHaveLength(begun)
    ends[begun - 1]?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(all)
})
