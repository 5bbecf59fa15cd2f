import { buyer } from './buyer.ts'
import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { host, path, port, positive, usdcNumber } from './values.ts'

const settings = {
  quote: setting(
    '--quote <path>',
    null,
    'paid path whose quote is checked; off checks none, for a service that sells nothing',
  ).default('/pulse/BTC'),
  buy: setting('--buy <path>', null, 'path that is bought at each check; needs --key-file'),
  keyFile: setting(
    '--key-file <file>',
    null,
    'file with a key of Base or Solana; - reads standard input',
  ).argParser(path),
  budget: setting(
    '--budget <usdc>',
    null,
    'highest sum of purchases in one day in UTC; later ones are skipped. The sum starts at 0 after a restart',
  )
    .argParser(usdcNumber)
    .default(1),
  payee: buyer.payee,
  solanaRpcUrl: buyer.solanaRpcUrl,
  interval: setting('--interval <seconds>', null, 'time between two checks')
    .argParser(positive)
    .default(60),
  once: flag('--once', null, 'check once; exit code 1 if something fails'),
  metricsHost: setting('--metrics-host <host>', null, 'address of --metrics-port')
    .argParser(host)
    .default('127.0.0.1'),
  metricsPort: setting(
    '--metrics-port <port>',
    null,
    'serve /metrics of the probe on this port (default: none)',
  ).argParser(port),
}

export type ProbeOptions = ValuesOf<typeof settings>

export const probeOptions = optionsOf(settings)
