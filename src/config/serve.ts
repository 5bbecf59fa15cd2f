import { clusterSettings } from './cluster.ts'
import { marketSourceSettings } from './market-source.ts'
import type { ValuesOf } from './option.ts'
import {
  adminSettings,
  historySettings,
  logSettings,
  optionsOf,
  RECORDING_BYTES_MAX,
  section,
  setting,
  shared,
} from './option.ts'
import { paymentSettings } from './payment.ts'
import { baseUrl, host, path, port, positive, proxies } from './values.ts'

const publicSettings = section('Public port', {
  host: setting('--host <host>', 'PERPSCOPE_HOST', 'address to listen on')
    .argParser(host)
    .default('127.0.0.1'),
  port: setting('--port <port>', 'PERPSCOPE_PORT', 'public port, 0 for any')
    .number(port)
    .default(8402),
  trustProxy: setting(
    '--trust-proxy <hops|list>',
    'PERPSCOPE_TRUST_PROXY',
    'trust X-Forwarded-For of these proxies: addresses and networks, or their number if only the proxy can reach the ' +
      'port (default: none)',
  ).list(proxies),
  publicUrl: setting(
    '--public-url <url>',
    'PERPSCOPE_PUBLIC_URL',
    'base of the resource URLs in quotes (default: the listening address, on loopback)',
  ).argParser(baseUrl),
  accessLog: setting('--access-log <on|off>', 'PERPSCOPE_ACCESS_LOG', 'log one line per request')
    .onOff()
    .default('on'),
})

const listenSettings = { ...publicSettings, ...adminSettings }

const publishedSettings = section('Published documents', {
  contactEmail: setting(
    '--contact-email <address>',
    'PERPSCOPE_CONTACT_EMAIL',
    'contact of the operator in published documents (default: none)',
  ),
  sampleCoin: setting(
    '--sample-coin <coin>',
    'PERPSCOPE_SAMPLE_COIN',
    'coin that the page at / shows for free, one minute late',
  ).default('BTC'),
})

const recordingSettings = section('Recording', {
  record: setting(
    '--record <file>',
    'PERPSCOPE_RECORD',
    'append every input of the engine to this file, for perpscope replay',
  ).argParser(path),
  recordMaxBytes: setting(
    '--record-max-bytes <bytes>',
    'PERPSCOPE_RECORD_MAX_BYTES',
    'file size at which recording stops; the service continues',
  )
    .number(positive)
    .default(RECORDING_BYTES_MAX),
})

const traceSettings = section('Traces', {
  otlpEndpoint: setting(
    '--otlp-endpoint <url>',
    'PERPSCOPE_OTLP_ENDPOINT',
    'OpenTelemetry collector (OTLP over HTTP) that receives traces of paid calls; needs optional packages (default: none)',
  )
    .argParser(baseUrl)
    .masked('url'),
})

export const serveSettings = {
  ...shared,
  ...clusterSettings,
  ...marketSourceSettings,
  ...listenSettings,
  ...publishedSettings,
  ...paymentSettings,
  ...logSettings('info'),
  ...historySettings,
  ...traceSettings,
  ...recordingSettings,
}

export type ListenOptions = ValuesOf<typeof listenSettings>

export type ServeOptions = ValuesOf<typeof serveSettings>

export const serveOptions = optionsOf(serveSettings)
