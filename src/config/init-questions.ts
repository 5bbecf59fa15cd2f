import type { Address } from '@solana/addresses'
import { InvalidArgumentError } from 'commander'
import { payeeFaults } from '../payment/evm/payee.ts'
import { solanaPayeeFaults } from '../payment/solana/payee.ts'
import { ConfigError } from './config-error.ts'
import type { SettingTexts } from './first-configuration.ts'
import { PROXY_BY_DEFAULT } from './first-configuration.ts'
import { readSecret } from './secret-file.ts'
import { serveOptions } from './serve.ts'

type Question = {
  readonly key: string
  readonly text: string
  /** Answer to an empty line; '' leaves the option out, null requires an answer. */
  readonly byDefault: string | null
  readonly applies: (answers: SettingTexts) => boolean
  /** Why a valid value is still wrong. */
  readonly faults?: (text: string) => readonly string[]
}

const always = () => true
const sells = (answers: SettingTexts) => answers.get('payment') !== 'open'
const settlesItself = (answers: SettingTexts) => sells(answers) && !answers.has('facilitator-url')
const usesSolana = (answers: SettingTexts) => answers.has('solana-pay-to')
const keyOf = (key: string) => `File with that key (empty: you set the variable ${key} yourself)`

const questions: readonly Question[] = [
  { key: 'network', text: 'EVM network, base or base-sepolia', byDefault: 'base', applies: sells },
  {
    key: 'pay-to',
    text: 'Address that receives USDC there, for this service only',
    byDefault: null,
    applies: sells,
    faults: (text) => payeeFaults(text as `0x${string}`, []),
  },
  {
    key: 'solana-pay-to',
    text: 'Solana wallet that receives USDC as well (empty: none)',
    byDefault: '',
    applies: sells,
    faults: (text) => solanaPayeeFaults(text as Address, null),
  },
  {
    key: 'facilitator-url',
    text: 'URL of a facilitator that settles (empty: this service settles with a node and a key)',
    byDefault: '',
    applies: (answers) => sells(answers) && !answers.has('rpc-url'),
  },
  {
    key: 'facilitator-auth-file',
    text: 'File with its Authorization header (empty: it needs none)',
    byDefault: '',
    applies: (answers) => answers.has('facilitator-url'),
  },
  {
    key: 'rpc-url',
    text: 'URL of the EVM node',
    byDefault: null,
    applies: settlesItself,
  },
  {
    key: 'facilitator-key-file',
    text: `Settling needs a key that pays the gas. ${keyOf('PERPSCOPE_FACILITATOR_KEY')}`,
    byDefault: '',
    applies: settlesItself,
  },
  {
    key: 'solana-rpc-url',
    text: 'URL of the Solana node',
    byDefault: null,
    applies: (answers) => settlesItself(answers) && usesSolana(answers),
  },
  {
    key: 'solana-facilitator-key-file',
    text: `Settling on Solana needs another key. ${keyOf('PERPSCOPE_SOLANA_FACILITATOR_KEY')}`,
    byDefault: '',
    applies: (answers) => settlesItself(answers) && usesSolana(answers),
  },
  { key: 'port', text: 'Public port', byDefault: '8402', applies: always },
  {
    key: 'public-url',
    text: 'Base URL under which buyers reach it (empty: this machine only)',
    byDefault: '',
    applies: sells,
  },
  {
    key: 'trust-proxy',
    text: 'Proxies in front of it, whose X-Forwarded-For is trusted: loopback, addresses, networks (0 if there is none)',
    byDefault: PROXY_BY_DEFAULT,
    applies: (answers) => answers.has('public-url'),
  },
  {
    key: 'sales-per-wallet-per-minute',
    text: 'Answers that one wallet can buy per minute',
    byDefault: '20',
    applies: sells,
  },
  {
    key: 'quotes-per-address-per-minute',
    text: 'Calls without a payment that one address can make per minute',
    byDefault: '60',
    applies: sells,
  },
]

/** Asks for what is not given yet. `ask` resolves with a line; a wrong one is asked for again, with the reason. */
export async function answered(
  given: SettingTexts,
  ask: (text: string) => Promise<string>,
  tell: (text: string) => void,
): Promise<SettingTexts> {
  const answers = new Map(given)
  for (const { key, text, byDefault, applies, faults = () => [] } of questions) {
    if (answers.has(key) || !applies(answers)) continue
    const hint = byDefault === null || byDefault === '' ? '' : ` [${byDefault}]`
    for (;;) {
      const answer = (await ask(`${text}${hint}: `)).trim() || byDefault
      if (answer === '') break
      const problems = answer === null ? ['an answer is needed'] : problemsOf(key, answer, faults)
      if (answer !== null && problems.length === 0) {
        answers.set(key, answer)
        break
      }
      for (const problem of problems) tell(`  ${problem}\n`)
    }
  }
  return answers
}

function problemsOf(
  key: string,
  text: string,
  faults: (text: string) => readonly string[],
): readonly string[] {
  try {
    const secretKey = serveOptions.find(({ fileKey }) => fileKey === key)
    if (secretKey !== undefined) secretKey.parseArg?.(readSecret(text), undefined)
    else serveOptions.find((option) => option.name() === key)?.parseArg?.(text, undefined)
    return faults(text)
  } catch (cause) {
    if (cause instanceof InvalidArgumentError || cause instanceof ConfigError)
      return [cause.message]
    throw cause
  }
}
