import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { privateKeyToAccount } from 'viem/accounts'
import { readGauge } from '../api/metrics/read-gauge.ts'
import { ConfigError } from '../config/config-error.ts'
import type { ChannelOptions } from '../config/payment.ts'
import { reasonOf } from '../domain/errors.ts'
import { batchSettlement } from '../payment/channels/batch-settlement.ts'
import { ChannelChain } from '../payment/channels/channel-chain.ts'
import { ChannelRegistry } from '../payment/channels/channel-registry.ts'
import type { Channel } from '../payment/channels/channel-store.ts'
import { Collector } from '../payment/channels/collector.ts'
import type { LocalFacilitator } from '../payment/evm/local-facilitator.ts'
import { base, baseSepolia } from '../payment/evm/networks.ts'
import { nodeReason } from '../payment/node-error.ts'
import type { PaymentMethod } from '../payment/payment.ts'
import { isAbsent } from './doctor/files.ts'
import type { OpenLedger } from './serve/open-ledger.ts'
import { systemClock } from './system-clock.ts'

/** Delay of a withdrawal. The service may be down for most of it without loss. */
const WITHDRAW_DELAY_SECONDS = 86_400
/** 5 USDC. */
const UNCLAIMED_MAX = 5_000_000n
/** The service learns of a withdrawal within this time, long before its delay ends. */
const FRESH_MS = (WITHDRAW_DELAY_SECONDS * 1_000) / 4

export type PaymentChannels = {
  readonly method: PaymentMethod
  channels(): Promise<readonly Channel[]>
  start(): void
  /** Ends after the claim in progress. Other vouchers are claimed after the next start. */
  stop(): Promise<void>
}

/**
 * Payments by channel, where they are turned on.
 * @throws ConfigError where the chain has no channels. @throws OperatingError where the file cannot be trusted
 */
export async function paymentChannels(
  options: ChannelOptions & { readonly dataDir: string },
  log: Logger,
  metrics: Registry,
  books: Pick<OpenLedger, 'openChannels' | 'recordCost'> | null,
  facilitator: Pick<LocalFacilitator, 'sender' | 'payers'> | null,
): Promise<PaymentChannels | null> {
  const { payTo, rpcUrl, facilitatorKey, dataDir } = options
  const path = join(dataDir, 'channels.db')
  if (options.payment === 'open' || options.paymentChannels === 'off') {
    warnOfUnclaimed(path, log)
    return null
  }
  if (books === null || facilitator === null)
    throw new Error('checked: channels have a ledger and a sender of their own transactions')
  if (payTo === undefined || rpcUrl === undefined || facilitatorKey === undefined)
    throw new Error('checked: channels have a payee, a node and a key')
  const network = options.network === 'base' ? base : baseSepolia
  const chain = new ChannelChain({
    network,
    rpcUrl,
    clock: systemClock,
    account: privateKeyToAccount(facilitatorKey),
    sender: facilitator.sender,
    payers: facilitator.payers,
    recordCost: books.recordCost,
  })
  await checkDeployed(chain, log)
  const { store, lease } = await books.openChannels()
  const registry = new ChannelRegistry({ store, chain, clock: systemClock, freshMs: FRESH_MS })
  const common = {
    registry,
    payTo,
    clock: systemClock,
    withdrawDelaySeconds: WITHDRAW_DELAY_SECONDS,
  }
  const collector = new Collector({
    ...common,
    unclaimedMax: UNCLAIMED_MAX,
    ...(lease && { lease }),
    emit: ({ cause, ...event }) => {
      if (event.kind === 'failed') log.error({ ...event, err: cause }, 'payment channels')
      else log.info(event, 'payment channels')
    },
  })
  measureUnclaimed(collector, metrics)
  log.warn('--payment-channels on: payment channels are not proven on a public network')
  return {
    method: batchSettlement({ ...common, network }),
    channels: () => store.channels(),
    start: () => collector.start(),
    stop: async () => {
      await collector.stop()
      store.close()
    },
  }
}

function warnOfUnclaimed(path: string, log: Logger): void {
  try {
    if (isAbsent(path)) return
    log.warn(
      `payment channels are off: what ${path} holds unclaimed can be withdrawn by its payers`,
    )
  } catch (cause) {
    log.warn(
      `payment channels are off, and ${path} may hold what its payers can withdraw: ${reasonOf(cause)}`,
    )
  }
}

async function checkDeployed(chain: ChannelChain, log: Logger): Promise<void> {
  let isDeployed: boolean
  try {
    isDeployed = await chain.isDeployed()
  } catch (cause) {
    log.warn(
      `the node at --rpc-url does not answer as it should (${nodeReason(cause)}); no channel can be opened until it does`,
    )
    return
  }
  if (!isDeployed)
    throw new ConfigError(
      '--payment-channels on: the chain at --rpc-url has no channel contract where x402 has it',
    )
}

function measureUnclaimed(collector: Collector, metrics: Registry): void {
  readGauge(
    metrics,
    'perpscope_channels_unclaimed_usdc',
    'Sum of vouchers that is not claimed on chain yet.',
    async () => Number((await collector.unclaimed()).amount) / 1e6,
  )
  readGauge(
    metrics,
    'perpscope_channels_unclaimed_age_seconds',
    'Age of the oldest unclaimed voucher; a quarter of the withdrawal delay is normal.',
    async () => {
      const { oldestMs } = await collector.unclaimed()
      return oldestMs === null ? 0 : (systemClock.nowMs() - oldestMs) / 1_000
    },
  )
}
