import type { FunctionComponent } from 'preact'
import type { ConsoleFacts } from '../../domain/console-protocol.ts'

/** A page of the console. Its code is loaded when it is opened. */
export type ConsoleView = {
  readonly id: string
  readonly title: string
  readonly ports: readonly ConsoleFacts['port'][]
  readonly load: () => Promise<FunctionComponent>
}

const BOTH = ['public', 'admin'] as const

/** In the order of the navigation; the first of a port is its start page. */
export const views: readonly ConsoleView[] = [
  {
    id: 'offers',
    title: 'Offers',
    ports: ['public'],
    load: async () => (await import('../views/offers/offers.tsx')).Offers,
  },
  {
    id: 'market',
    title: 'Market',
    ports: BOTH,
    load: async () => (await import('../views/market/market.tsx')).Market,
  },
  {
    id: 'coin',
    title: 'Coin',
    ports: BOTH,
    load: async () => (await import('../views/coin/coin.tsx')).Coin,
  },
  {
    id: 'world',
    title: 'World',
    ports: BOTH,
    load: async () => (await import('../views/world/world.tsx')).World,
  },
  {
    id: 'proof',
    title: 'Proof',
    ports: BOTH,
    load: async () => (await import('../views/proof/proof.tsx')).Proof,
  },
  {
    id: 'buy',
    title: 'Buy',
    ports: ['public'],
    load: async () => (await import('../views/buy/buy.tsx')).Buy,
  },
  {
    id: 'status',
    title: 'Status',
    ports: ['public'],
    load: async () => (await import('../views/status/status.tsx')).Status,
  },
  {
    id: 'health',
    title: 'Health',
    ports: ['admin'],
    load: async () => (await import('../views/health/health.tsx')).Health,
  },
  {
    id: 'money',
    title: 'Money',
    ports: ['admin'],
    load: async () => (await import('../views/money/money.tsx')).Money,
  },
  {
    id: 'control',
    title: 'Control',
    ports: ['admin'],
    load: async () => (await import('../views/control/control.tsx')).Control,
  },
]
