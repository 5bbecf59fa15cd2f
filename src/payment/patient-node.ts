import { backOffMs } from '../domain/back-off.ts'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import { nodeReason } from './node-error.ts'

/** Asks a node again that is overloaded, for commands without a waiting buyer. */
export type PatientNode = {
  /** @throws OperatingError `node_unavailable` after the last attempt */
  ask<Reply>(question: () => Promise<Reply>): Promise<Reply>
  /**
   * Waits after a failure.
   * @param failures consecutive ones, from 1. @param where the part of the work that stays undone
   * @throws OperatingError `node_unavailable` if it was the last attempt
   */
  pause(failures: number, cause: unknown, where: string): Promise<void>
}

const PAUSE = { minMs: 100, maxMs: 2_000 }
/** A quarter of a minute; a range of 10,000 blocks has become one block by then. */
const FAILURES_MAX = 15

/** @param name of the node for messages. @param chance random numbers from 0 to 1 */
export function patientNode(name: string, clock: Clock, chance: () => number): PatientNode {
  const pause = async (failures: number, cause: unknown, where: string) => {
    if (failures >= FAILURES_MAX)
      throw new OperatingError(
        'node_unavailable',
        `${name} does not answer (${where}): ${nodeReason(cause)}`,
      )
    await new Promise<void>((resolve) => {
      clock.after(backOffMs(PAUSE, failures, chance()), resolve)
    })
  }
  return {
    pause,
    async ask(question) {
      for (let failures = 1; ; failures += 1) {
        try {
          return await question()
        } catch (cause) {
          await pause(failures, cause, 'the same request was repeated')
        }
      }
    },
  }
}
