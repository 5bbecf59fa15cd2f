import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { Cluster, ClusterProcess } from '../test/support/cluster.ts'
import { buildCluster } from '../test/support/cluster.ts'
import type { PostgresServer } from '../test/support/postgres.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { fromElsewhere, until } from '../test/support/service.ts'

/** Two gateways that sell from one PostgreSQL ledger, with a chain of their own. */
export type SellingCluster = {
  readonly chain: EvmChain
  readonly postgres: PostgresServer
  readonly cluster: Cluster
  readonly one: ClusterProcess
  readonly other: ClusterProcess
  /** Ends everything that was started. */
  close(): Promise<void>
}

/** Starts everything, and waits until both gateways quote. */
export async function startSelling(engines: number): Promise<SellingCluster> {
  const cleanups: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    const chain = await startEvmChain({ clock: systemClock })
    cleanups.push(() => chain.close())
    const postgres = await startPostgres({ isDurable: true })
    cleanups.push(() => postgres.close())
    const cluster = await buildCluster({
      engines,
      gatewayFlags: [
        ...['--ledger', await postgres.createDatabase()],
        ...sellingFlags(chain, chain.accounts.merchant.address),
      ],
      gatewayEnv: { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey },
    })
    cleanups.push(() => cluster.close())
    for (const process of [...cluster.engines, ...cluster.gateways]) await process.start()
    for (const gateway of cluster.gateways) await quotes(gateway)
    const [one, other] = cluster.gateways as [ClusterProcess, ClusterProcess]
    return { chain, postgres, cluster, one, other, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

/** Without the ledger and the key that pays the gas. */
export function sellingFlags({ rpcUrl }: EvmChain, payTo: string): readonly string[] {
  return [
    ...['--pay-to', payTo, '--rpc-url', rpcUrl, '--public-url', 'https://perpscope.example'],
    ...['--trust-proxy', 'loopback', '--sales-per-wallet-per-minute', '1000000'],
  ]
}

/** Resolves when it offers an answer for sale. */
export async function quotes({ url }: Pick<ClusterProcess, 'url'>): Promise<void> {
  await until('it quotes', async () => (await fromElsewhere()(`${url}/pulse/BTC`)).status === 402)
}
