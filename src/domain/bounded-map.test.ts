import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

test('a bounded map forgets what was set longest ago', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4])
})

property.prop([
  fc.array(fc.record({ key: fc.nat(9), isDeleted: fc.boolean() }), { maxLength: 200 }),
  fc.integer({ min: 1, max: 6 }),
])('a bounded map knows what a list of the newest would', (steps, sizeMax) => {
  const map = new BoundedMap<number, number>(sizeMax)
  let newest: [number, number][] = []
  for (const [value, { key, isDeleted }] of steps.entries()) {
    newest = newest.filter(([known]) => known !== key)
    if (isDeleted) map.delete(key)
    else {
      map.set(key, value)
      newest = [...newest, [key, value] as [number, number]].slice(-sizeMax)
    }
    for (let asked = 0; asked < 10; asked += 1)
      expect(map.get(asked)).toBe(newest.find(([known]) => known === asked)?.[1])
  }
})
