import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openStream } from './event-stream.ts'

/** A connection whose events the test sends. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2
  static made: FakeSource[] = []
  readyState = 1

  constructor() {
    super()
    FakeSource.made.push(this)
  }

  close(): void {
    this.readyState = FakeSource.CLOSED
  }

  receive(data: string): void {
    this.dispatchEvent(new MessageEvent('service', { data }))
  }

  refuse(): void {
    this.close()
    this.dispatchEvent(new Event('error'))
  }
}

const newest = () => FakeSource.made.at(-1)
const open = () => FakeSource.made.filter(({ readyState }) => readyState !== FakeSource.CLOSED)

describe('the stream of a page', () => {
  const log: string[] = []
  let close = () => {}
  let page = Object.assign(new EventTarget(), { hidden: false })
  const turn = (hidden: boolean) => {
    page.hidden = hidden
    page.dispatchEvent(new Event('visibilitychange'))
  }

  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('EventSource', FakeSource)
    page = Object.assign(new EventTarget(), { hidden: false })
    vi.stubGlobal('document', page)
    FakeSource.made = []
    log.length = 0
    close = openStream('/console/live', {
      events: { service: (data) => log.push(data) },
      onLost: () => log.push('lost'),
      onRefused: () => log.push('refused'),
    })
  })
  afterEach(() => {
    close()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  test('that sends nothing for 15 s, and reports no error, is replaced', () => {
    newest()?.receive('first')
    vi.advanceTimersByTime(14_000)
    expect(FakeSource.made).toHaveLength(1)
    expect(log.slice(0, 2)).toEqual(['first', 'lost'])
    vi.advanceTimersByTime(2_000)
    expect(FakeSource.made).toHaveLength(2)
    expect(open()).toEqual([newest()])
    log.length = 0
    newest()?.receive('second')
    vi.advanceTimersByTime(4_000)
    expect(log).toEqual(['second'])
  })

  test('that is refused is tried again each second, by one connection and one timer', () => {
    for (let refusals = 1; refusals <= 20; refusals += 1) {
      newest()?.refuse()
      vi.advanceTimersByTime(1_000)
      expect(FakeSource.made).toHaveLength(1 + refusals)
      expect(vi.getTimerCount(), 'the watch alone').toBe(1)
    }
    expect(open()).toEqual([newest()])
    newest()?.refuse()
    close()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that is out of sight has no connection, and a new one when it is back', () => {
    turn(true)
    vi.advanceTimersByTime(60_000)
    expect(open()).toEqual([])
    expect(log, 'nothing is lost').toEqual([])
    turn(false)
    expect(FakeSource.made).toHaveLength(2)
    expect(open()).toEqual([newest()])
    close()
    turn(true)
    turn(false)
    expect(open(), 'after its end').toEqual([])
  })
})
