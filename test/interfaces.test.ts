import { afterAll, beforeAll } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { a2aTests } from './interfaces/a2a.ts'
import { deskTests } from './interfaces/desk.ts'
import { generatedClientTests } from './interfaces/generated-client.ts'
import { mcpTests } from './interfaces/mcp.ts'
import { probeTests } from './interfaces/probe.ts'
import type { Rig } from './support/service.ts'
import { oneCoin, startRig, untilSold } from './support/service.ts'

/**
 * The interfaces of the built service that are only read or bought from, at one service: its start takes more than what
 * any of them does. Plain HTTP, and what breaks a service, are in `service.test.ts`.
 */
let rig: Rig

beforeAll(async () => {
  rig = await startRig({ coins: oneCoin, solana: true, flags: ['--dexes', 'off'] })
  for (const contract of contracts)
    if (['pulse', 'oi'].includes(contract.id)) await untilSold(rig.url, contract, 'BTC')
})

afterAll(() => rig?.close())

for (const tests of [a2aTests, deskTests, generatedClientTests, mcpTests, probeTests])
  tests(() => rig)
