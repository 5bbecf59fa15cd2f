import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { serveSettings as serve } from './serve.ts'
import { path } from './values.ts'

/** Keys are named by their files and never written. */
const keyFileSettings = {
  facilitatorAuthFile: setting(
    '--facilitator-auth-file <path>',
    null,
    'file with the Authorization header for the facilitator',
  ).argParser(path),
  facilitatorKeyFile: setting(
    '--facilitator-key-file <path>',
    null,
    'file with the key that pays the gas',
  ).argParser(path),
  solanaFacilitatorKeyFile: setting(
    '--solana-facilitator-key-file <path>',
    null,
    'file with the key that pays the fees on Solana',
  ).argParser(path),
}

const settings = {
  payment: serve.payment,
  network: serve.network,
  payTo: serve.payTo,
  solanaPayTo: serve.solanaPayTo,
  solanaNetwork: serve.solanaNetwork,
  facilitatorUrl: serve.facilitatorUrl,
  rpcUrl: serve.rpcUrl,
  solanaRpcUrl: serve.solanaRpcUrl,
  ...keyFileSettings,
  source: serve.source,
  outside: serve.outside,
  dataDir: serve.dataDir,
  host: serve.host,
  port: serve.port,
  adminPort: serve.adminPort,
  trustProxy: serve.trustProxy,
  publicUrl: serve.publicUrl,
  salesPerWalletPerMinute: serve.salesPerWalletPerMinute,
  quotesPerAddressPerMinute: serve.quotesPerAddressPerMinute,
  force: flag('--force', null, 'replace a file that exists'),
}

export type InitOptions = ValuesOf<typeof settings>

export const initOptions = optionsOf(settings)
