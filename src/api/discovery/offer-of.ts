import type { AnalysisContract, ViewParameter } from '../../domain/contract.ts'
import { pathOf, pathParameterOf, pathTemplateOf } from '../../domain/contract.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { answerViews, FIELDS_CHARS_MAX, FIELDS_MAX, hasCompactView } from '../answer-selection.ts'
import type { JsonSchema } from './published-schema.ts'
import { publishedSchema } from './published-schema.ts'
import { compactSchema } from './schema-parts.ts'

/** What a machine has to know of an analysis before it calls it, however it calls it. */
export type AnalysisOffer = {
  /** As in the path. */
  readonly id: string
  /** Verb and noun, for operations and tools: `get_pulse`. */
  readonly name: string
  /** Below 80 characters. */
  readonly title: string
  /** When to use it and when not, what it returns, what it costs, how fresh it is. */
  readonly description: string
  /** With `{coin}` where the answer is about one coin: all that are called by programs alike take a `coin`. */
  readonly path: string
  /** The same as it is published: the specification calls one of them a token. */
  readonly template: string
  readonly pathParameter: string
  readonly parameters: readonly OfferedParameter[]
  /** All parameters as one object. */
  readonly inputSchema: JsonSchema
  /** Of the whole answer. */
  readonly outputSchema: JsonSchema
  /** Of the answer to `view=compact`; the screener's whole schema holds its short rows too. */
  readonly compactSchema: JsonSchema
  readonly priceUsdcAtomic: bigint
  /** The same in USDC, as a decimal number without trailing zeros. */
  readonly priceUsdc: string
}

export type OfferedParameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly isRequired: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example: string
}

export type OfferOptions = {
  /** A coin that can be asked for at any time. */
  readonly exampleCoin: string
  /** Answers are given away (`--payment open`). */
  readonly isFree?: boolean
}

const COIN_CHARACTERS_MAX = 64

/** Everything that is published about an analysis, from its contract and from nothing else. */
export function offerOf(contract: AnalysisContract, options: OfferOptions): AnalysisOffer {
  const parameters = parametersOf(contract, options)
  return {
    id: contract.id,
    name: `get_${contract.id.replaceAll('-', '_')}`,
    title: contract.guide.title,
    description: descriptionOf(contract, options),
    path: pathOf(contract, '{coin}'),
    template: pathTemplateOf(contract),
    pathParameter: pathParameterOf(contract),
    parameters,
    inputSchema: inputSchema(parameters),
    outputSchema: publishedSchema(contract.document),
    compactSchema: compactSchemaOf(contract),
    priceUsdcAtomic: contract.priceUsdcAtomic,
    priceUsdc: usdcDecimal(contract.priceUsdcAtomic),
  }
}

const compactSchemas = new WeakMap<AnalysisContract, JsonSchema>()

function compactSchemaOf(contract: AnalysisContract): JsonSchema {
  const whole = publishedSchema(contract.document)
  if (!hasCompactView(contract)) return whole
  const known = compactSchemas.get(contract) ?? compactSchema(whole, contract.compactOmits)
  compactSchemas.set(contract, known)
  return known
}

function descriptionOf(contract: AnalysisContract, { isFree = false }: OfferOptions): string {
  const { coverageFloor, guide, inputAgeMsMax, priceUsdcAtomic } = contract
  const age = Number.isFinite(inputAgeMsMax)
    ? `inputs at most ${inputAgeMsMax / 1_000} s old, else 503;`
    : 'each input within its own age limit, else 503;'
  const cost = isFree
    ? 'Free on this service.'
    : `${usdcDecimal(priceUsdcAtomic)} USDC per call by x402; errors are free.`
  return [
    `Use when ${guide.useWhen}`,
    `Do not use when ${guide.notWhen}`,
    `Returns ${guide.returns}`,
    `Cost: ${cost}`,
    `Freshness: ${age} meta has age and grade.`,
    `Coverage: sold from ${coverageFloor.least}, else 503 warming_up.`,
  ].join('\n')
}

function parametersOf(
  contract: AnalysisContract,
  { exampleCoin }: OfferOptions,
): readonly OfferedParameter[] {
  const coin: OfferedParameter = {
    name: 'coin',
    in: 'path',
    isRequired: true,
    description: 'Ticker from /coins, any case; BTC-PERP, BTCUSDT and BTC-USDC work too.',
    schema: { type: 'string', minLength: 1, maxLength: COIN_CHARACTERS_MAX },
    example: exampleCoin,
  }
  return [
    ...(contract.scope === 'coin' ? [coin] : []),
    ...contract.viewParameters.map(viewParameter),
    ...(hasCompactView(contract) ? [compactParameter] : []),
    fieldsParameter,
  ]
}

function viewParameter(parameter: ViewParameter): OfferedParameter {
  const { name, description, example, schema, allowed, defaultValue } = parameter
  const values = schema === undefined ? { type: 'string', enum: allowed } : publishedSchema(schema)
  const isNumber = values['type'] === 'integer'
  return {
    name,
    in: 'query',
    isRequired: false,
    description,
    schema: { ...values, default: isNumber ? Number(defaultValue) : defaultValue },
    example,
  }
}

export const compactParameter: OfferedParameter = {
  name: 'view',
  in: 'query',
  isRequired: false,
  description:
    'full, or compact: without interpretations, histories, source lists and derived details.',
  schema: { type: 'string', enum: answerViews, default: 'full' },
  example: 'compact',
}

export const fieldsParameter: OfferedParameter = {
  name: 'fields',
  in: 'query',
  isRequired: false,
  description:
    `Only these members: up to ${FIELDS_MAX} names, comma-separated, with dots between the names of nested ones; a name goes ` +
    'through lists. Coin, time, age and quality always stay. Default: all.',
  schema: { type: 'string', minLength: 1, maxLength: FIELDS_CHARS_MAX },
  example: 'meta.quality',
}

function inputSchema(parameters: readonly OfferedParameter[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description, example }) => [
        name,
        {
          ...schema,
          description,
          examples: [schema.type === 'integer' ? Number(example) : example],
        },
      ]),
    ),
    required: parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    additionalProperties: false,
  }
}
