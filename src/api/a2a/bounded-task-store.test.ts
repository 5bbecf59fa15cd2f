import type { Task } from '@a2a-js/sdk'
import type { ServerCallContext } from '@a2a-js/sdk/server'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { ADDRESS } from './analysis-agent.ts'
import { BoundedTaskStore } from './bounded-task-store.ts'

function storeOf(clock = new ManualClock()) {
  const store = new BoundedTaskStore(clock)
  const save = (id: string, address: string) => {
    const context = { state: new Map([[ADDRESS, address]]) }
    return store.save(
      { id, history: [] } as unknown as Task,
      context as unknown as Pick<ServerCallContext, 'state'>,
    )
  }
  const has = async (id: string) => (await store.load(id)) !== undefined
  return { save, has }
}

test('a caller with many tasks replaces its own, also from other addresses of its network', async () => {
  const { save, has } = storeOf()
  await save('quote', '203.0.113.1')
  for (let at = 0; at < 2_000; at += 1) await save(`x${at}`, `2001:db8::${(at % 20).toString(16)}`)
  expect(await has('quote'), 'the task of another caller').toBe(true)
  expect([await has('x0'), await has('x1899'), await has('x1900'), await has('x1999')]).toEqual([
    ...[false, false, true, true],
  ])
})

test('in a full store a caller replaces its own oldest task, and a new caller the oldest one', async () => {
  const { save, has } = storeOf()
  for (let at = 0; at < 1_000; at += 1) await save(`t${at}`, `203.0.113.${at % 20}`)
  await save('again', '203.0.113.7')
  expect([await has('t0'), await has('t7')]).toEqual([true, false])
  await save('new', '198.51.100.1')
  expect([await has('t0'), await has('new')]).toEqual([false, true])
})

test('tasks end after a quarter of an hour', async () => {
  const clock = new ManualClock()
  const { save, has } = storeOf(clock)
  await save('quote', '203.0.113.1')
  clock.advance(15 * 60_000)
  expect(await has('quote')).toBe(false)
})
