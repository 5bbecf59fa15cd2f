import type { ValuesOf } from './option.ts'
import { flag, optionsOf, setting } from './option.ts'
import { address, baseUrl, path, url } from './values.ts'

const settings = {
  receipt: setting(
    '--receipt <header>',
    null,
    'value of PAYMENT-RESPONSE, if the file has no receipt',
  ),
  url: setting(
    '--url <url>',
    null,
    'service that sold the answer: asked for the address of its receipts and for the proof (default: neither is asked)',
  ).argParser(baseUrl),
  signer: setting(
    '--signer <address>',
    null,
    'address that must have signed the receipt (default: the one that --url names)',
  ).argParser(address),
  rpcUrl: setting(
    '--rpc-url <url>',
    null,
    'node of the chain on which the proof is anchored: the transaction is compared (default: not asked)',
  )
    .argParser(url)
    .masked('url'),
  recording: setting(
    '--recording <file>',
    null,
    'recording of the service (serve --record): the answer is computed again from it and compared byte by byte',
  ).argParser(path),
  json: flag('--json', null, 'print one JSON object'),
}

export type VerifyOptions = ValuesOf<typeof settings>

export const verifyOptions = optionsOf(settings)
