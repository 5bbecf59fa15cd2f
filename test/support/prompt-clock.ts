import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/roles/system-clock.ts'

/** What waits longer is a limit, such as that of a request. */
const WAIT_MS_MAX = 250
const SHORT_MS = 20

/**
 * The system's clock with short waits, for a facilitator: it gathers payments for a quarter of a second before it asks
 * the node about them, and asks for a receipt every tenth. A test that buys once would wait in vain.
 */
export const promptClock: Clock = {
  ...systemClock,
  after: (delayMs, task) =>
    systemClock.after(delayMs > WAIT_MS_MAX ? delayMs : Math.min(delayMs, SHORT_MS), task),
}
