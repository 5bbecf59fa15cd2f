import { describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { childrenOf, runDemo, until } from './support/service.ts'

describe('npm run demo', () => {
  test('reports a purchase that breaks off, and leaves nothing running', async () => {
    let children: number[] = []
    const { code, output } = await runDemo(['--json'], {
      onLine: (line, { pid = 0 }) => {
        if (line !== 'buying pulse') return
        const found = childrenOf(pid)
        children = found.map((child) => child.pid)
        process.kill(found.find(({ command }) => command.includes(' serve '))?.pid ?? 0, 'SIGKILL')
      },
    })
    expect(code).toBe(1)
    const report = JSON.parse(output) as { ok: boolean; purchases: { status: number }[] }
    expect(report.ok).toBe(false)
    expect(report.purchases).toHaveLength(contracts.length)
    expect(report.purchases).toContainEqual(
      expect.objectContaining({ path: expect.any(String), status: 0, network: 'none', bytes: 0 }),
    )
    expect(children).toHaveLength(3)
    expect(children.filter(isRunning)).toEqual([])
  })

  test.each([
    ['starting the simulated venue', 2],
    ['starting the service and waiting until everything can be answered', 3],
  ])('that is interrupted while "%s" leaves nothing running', async (stage, count) => {
    let children: number[] = []
    const { output } = await runDemo(['--once', '--json'], {
      onLine: (line, child) => {
        if (line !== stage) return
        void until(`${count} children run`, async () => {
          children = childrenOf(child.pid ?? 0).map(({ pid }) => pid)
          return children.length === count
        }).finally(() => child.kill('SIGINT'))
      },
    })
    expect(output, 'there is nothing to report').toBe('')
    expect(children).toHaveLength(count)
    expect(children.filter(isRunning)).toEqual([])
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
