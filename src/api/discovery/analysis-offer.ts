import type { AnalysisContract, ViewParameter } from '../../domain/contract.ts'
import { pathOf, pathParameterOf, pathTemplateOf } from '../../domain/contract.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { answerViews, FIELDS_CHARS_MAX, FIELDS_MAX, hasCompactView } from '../answer-selection.ts'
import type { JsonSchema } from './published-schema.ts'
import { publishedSchema } from './published-schema.ts'
import { compactSchema } from './schema-parts.ts'

/** What a caller needs to know of an analysis, over any protocol. */
export type AnalysisOffer = {
  /** First segment of the path. */
  readonly id: string
  /** Name of the operation and the tool: `get_pulse`. */
  readonly name: string
  /** Below 80 characters. */
  readonly title: string
  /** Use, result, cost, freshness and coverage. */
  readonly description: string
  /** With `{coin}` for an analysis of one coin; tools name the parameter `coin` throughout. */
  readonly path: string
  /** Published path: with `{token}` where the contract names the parameter so. */
  readonly template: string
  readonly pathParameter: string
  readonly parameters: readonly OfferedParameter[]
  /** All parameters as one object. */
  readonly inputSchema: JsonSchema
  /** Schema of the full answer. */
  readonly outputSchema: JsonSchema
  /** Schema of `view=compact`; the screener's full schema covers its short rows too. */
  readonly compactSchema: JsonSchema
  readonly priceUsdcAtomic: bigint
  /** Decimal USDC without trailing zeros. */
  readonly priceUsdc: string
}

/** Name of the schema of an answer: `PulseAnswer`. */
export function answerSchemaName({ id }: Pick<AnalysisOffer, 'id'>): string {
  const words = id.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Answer`
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
  /** A coin that is always listed. */
  readonly exampleCoin: string
  /** Answers are free (`--payment open`). */
  readonly isFree?: boolean
}

const COIN_CHARACTERS_MAX = 64

/** Derives everything that is published about an analysis from its contract. */
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
    ? `inputs at most ${inputAgeMsMax / 1_000} s old, else 503.`
    : 'each input within its age limit, else 503.'
  const cost = isFree
    ? 'free on this service.'
    : `${usdcDecimal(priceUsdcAtomic)} USDC per call; errors are not charged.`
  return [
    `Use when ${guide.useWhen}`,
    `Do not use when ${guide.notWhen}`,
    `Returns ${guide.returns}`,
    `Cost: ${cost}`,
    `Freshness: ${age} meta states age and grade.`,
    `Coverage: requires ${coverageFloor.least}; else 503 warming_up.`,
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
    description: 'Ticker from /coins, case-insensitive; also BTC-PERP, BTCUSDT or BTC-USDC.',
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
  description: 'compact omits interpretations, histories, source lists and derived details.',
  schema: { type: 'string', enum: answerViews, default: 'full' },
  example: 'compact',
}

export const fieldsParameter: OfferedParameter = {
  name: 'fields',
  in: 'query',
  isRequired: false,
  description:
    `Fields to return: up to ${FIELDS_MAX} comma-separated names; dots separate nested names and reach into lists. ` +
    'Coin, time, age and quality are always returned. Default: all. A key or selection that the current answer lacks is refused.',
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
