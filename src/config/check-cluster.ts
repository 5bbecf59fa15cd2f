import type { ServeOptions } from './serve.ts'

const BROKER_PROTOCOLS = ['valkey:', 'redis:', 'valkeys:', 'rediss:']

/** Options of the sale without a default; an engine has no use for them. */
const sellingOptions = {
  ledger: '--ledger',
  payTo: '--pay-to',
  rpcUrl: '--rpc-url',
  facilitatorKey: '--facilitator-key',
  facilitatorUrl: '--facilitator-url',
  facilitatorAuth: '--facilitator-auth',
  solanaPayTo: '--solana-pay-to',
  solanaRpcUrl: '--solana-rpc-url',
  solanaFacilitatorKey: '--solana-facilitator-key',
  receiptKey: '--receipt-key',
} as const satisfies Partial<Record<keyof ServeOptions, string>>

/** What is missing for the role, or does not fit it. The URL of the broker is not shown: it may contain a password. */
export function clusterProblems(options: ServeOptions): readonly string[] {
  switch (options.role) {
    case 'all':
      return options.broker === undefined
        ? []
        : ['--broker is for --role engine and --role gateway; --role all uses none']
    case 'gateway':
      return [...brokerProblems(options), ...gatewayProblems(options)]
    case 'engine':
      return [...brokerProblems(options), ...engineProblems(options)]
    default:
      return options.role satisfies never
  }
}

function brokerProblems({ role, broker }: ServeOptions): readonly string[] {
  if (broker === undefined)
    return [
      `--role ${role} needs --broker (PERPSCOPE_BROKER): the Valkey or Redis between engine and gateways`,
    ]
  return brokerUrlProblems(broker)
}

/** What is wrong with the URL of a broker. It is not shown. */
export function brokerUrlProblems(broker: string): readonly string[] {
  return isBrokerUrl(broker)
    ? []
    : ['--broker is not a URL such as valkey://host:6379, or valkeys://user:password@host:6379/0']
}

function isBrokerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, username, password } = new URL(text)
  return (
    BROKER_PROTOCOLS.includes(protocol) &&
    hostname !== '' &&
    // The path is the number of a database.
    /^(\/\d*)?$/.test(pathname) &&
    [username, password].every(isDecodable)
  )
}

/** The client decodes both. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function gatewayProblems({ ledger, payment, record }: ServeOptions): readonly string[] {
  return [
    ...(payment === 'open' || ledger !== undefined
      ? []
      : [
          '--role gateway needs --ledger (PERPSCOPE_LEDGER): the PostgreSQL of payments that all gateways share',
        ]),
    ...(record === undefined
      ? []
      : ['--record needs an engine, and --role gateway has none: give it to --role engine']),
  ]
}

function engineProblems(options: ServeOptions): readonly string[] {
  const given = Object.entries(sellingOptions)
    .filter(([name]) => options[name as keyof typeof sellingOptions] !== undefined)
    .map(([, option]) => option)
  if (given.length === 0) return []
  return [`--role engine sells nothing: give ${given.join(', ')} to --role gateway only`]
}
