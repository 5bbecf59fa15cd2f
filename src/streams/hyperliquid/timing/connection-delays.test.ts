import { describe, expect, test } from 'vitest'
import { ConnectionDelays } from './connection-delays.ts'

const START_MS = 1_000_000

describe('what comes over a connection', () => {
  test('counts as held up by nothing before anything is known of it', () => {
    const delays = new ConnectionDelays()
    expect([delays.ofDatedMs(0), delays.ofUndatedMs(0)]).toEqual([0, 0])
  })

  test('is held up as its last frame with a time was', () => {
    const delays = opened(0, 1)
    delays.measured(0, 700, START_MS + 100)
    expect([delays.ofDatedMs(0), delays.ofUndatedMs(0)]).toEqual([700, 700])
    expect(delays.ofDatedMs(1), 'another connection').toBe(0)
  })

  test('after a pause of ours is held up by that as well, until a frame tells', () => {
    const delays = opened(0, 1)
    delays.measured(0, 700, START_MS + 100)
    delays.paused(3_000)
    delays.paused(2_000)
    expect([delays.ofDatedMs(0), delays.ofDatedMs(1)]).toEqual([5_700, 5_000])
    delays.measured(0, 200, START_MS + 5_200)
    expect(delays.ofDatedMs(0)).toBe(200)
  })

  test('after a silence may be as old as that, unless it says itself when it was so', () => {
    const delays = opened(0)
    delays.measured(0, 700, START_MS)
    delays.received(0, START_MS + 6_000)
    expect(delays.ofUndatedMs(0), 'a book comes every 5.4 s').toBe(700)
    delays.received(0, START_MS + 18_000)
    expect([delays.ofDatedMs(0), delays.ofUndatedMs(0)]).toEqual([700, 12_700])
    delays.received(0, START_MS + 18_100)
    expect(delays.ofUndatedMs(0), 'the next one proves nothing').toBe(12_700)
    delays.measured(0, 300, START_MS + 18_200)
    expect(delays.ofUndatedMs(0)).toBe(300)
  })

  test('counts its silence from its beginning on', () => {
    const delays = opened(0)
    delays.received(0, START_MS + 9_000)
    expect([delays.ofDatedMs(0), delays.ofUndatedMs(0)]).toEqual([0, 9_000])
  })

  test('is not silent while we do not read', () => {
    const delays = opened(0)
    delays.paused(8_000)
    delays.received(0, START_MS + 8_500)
    expect(delays.ofUndatedMs(0), 'the pause, once').toBe(8_000)
  })

  test('begins anew with a new connection', () => {
    const delays = opened(0)
    delays.measured(0, 700, START_MS)
    delays.lost(0)
    delays.opened(0, START_MS + 60_000)
    delays.received(0, START_MS + 61_000)
    expect([delays.ofDatedMs(0), delays.ofUndatedMs(0)]).toEqual([0, 0])
  })
})

function opened(...sockets: readonly number[]): ConnectionDelays {
  const delays = new ConnectionDelays()
  for (const socket of sockets) delays.opened(socket, START_MS)
  return delays
}
