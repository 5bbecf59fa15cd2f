import { problemCodes } from '../../domain/problem.ts'
import type { AnalysisOffer, OfferedParameter } from './analysis-offer.ts'
import { offerOf } from './analysis-offer.ts'
import { errorGuide } from './error-guide.ts'
import type { JsonSchema } from './published-schema.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'

/** `/llms.txt` (https://llmstxt.org): title, summary and lists of links. */
export function llmsText(facts: DocumentFacts): string {
  const { publicUrl } = facts
  return lines(
    `# ${SERVICE_NAME}`,
    '',
    `> ${SERVICE_SUMMARY}`,
    '',
    ...howToCall(facts),
    '',
    '## Analyses',
    '',
    ...offersOf(facts).map(
      (offer) =>
        `- [${offer.id}](${exampleUrl(offer, facts)}): ${offer.title}${price(offer, facts)}`,
    ),
    '',
    '## Free',
    '',
    `- [coins](${publicUrl}/coins): available tickers`,
    `- [health](${publicUrl}/health): service health`,
    `- [status](${publicUrl}/status): availability and incidents of the last 30 days`,
    `- [pricing](${publicUrl}/pricing): price list and accepted payments`,
    ...(facts.hasProofs === true
      ? [
          `- [proof](${publicUrl}/proof): Merkle roots of sold answers by hour; /proof/{sha256} proves one`,
        ]
      : []),
    `- [samples](${publicUrl}/sample/${facts.contracts[0]?.id}): a sample answer of each analysis at /sample/{analysis}`,
    `- [track record](${publicUrl}/track-record): past estimates against what happened and a control; one family at /track-record/{family}`,
    '',
    '## Documentation',
    '',
    `- [OpenAPI](${publicUrl}/openapi.json): paths, parameters, responses, headers and fields`,
    `- [Complete documentation](${publicUrl}/llms-full.txt): fields and errors as text`,
    `- [Errors](${publicUrl}/docs/errors): meaning of each code and what to do`,
    `- [Agent card](${publicUrl}/.well-known/agent-card.json), [payment manifest](${publicUrl}/.well-known/x402)`,
    `- [MCP](${publicUrl}/mcp), [A2A](${publicUrl}/a2a): analyses as tools and skills; view defaults to compact`,
  )
}

/** `/llms-full.txt`. */
export function llmsFullText(facts: DocumentFacts): string {
  return lines(
    llmsText(facts),
    ...offersOf(facts).flatMap((offer) => analysisText(offer, facts)),
    '# Errors',
    '',
    'Media type application/problem+json. charged: whether the payment was taken, by this or an earlier request; the descriptions are about this request. payment_reusable: whether the same signed payment can be sent again. retry_after: seconds to wait.',
    '',
    ...problemCodes.map(({ code, status }) => `- ${status} ${code}: ${errorGuide[code].meaning}`),
    '- 402: payment required, or the payment was refused; diagnostics states why.',
  )
}

function howToCall(facts: DocumentFacts): readonly string[] {
  const paying = isFree(facts)
    ? ['- All answers are free on this service.']
    : [
        '- Call a path: the 402 has the payment terms, x402 version 1 in the body and version 2 in PAYMENT-REQUIRED.',
        '- Sign one of the terms and repeat the request with PAYMENT-SIGNATURE (or X-PAYMENT): the response is 200.',
        '- Errors are not charged. After a broken connection send the same payment again: the stored answer is returned.',
        `- Accepted: ${facts.waysToPay.map(({ scheme, network }) => `${scheme} on ${network}`).join(', ')}.`,
      ]
  return [
    ...paying,
    '- Every answer has meta.data_age_seconds and meta.quality.grade, A to D. Unknown values are null.',
    '- view=compact shortens an answer; fields=a,b.c selects fields. A key or selection that the current answer lacks is refused.',
    '- Unknown parameters are refused with 400 unknown_parameter and did_you_mean, without a quote.',
  ]
}

function analysisText(offer: AnalysisOffer, facts: DocumentFacts): readonly string[] {
  return [
    `# ${offer.id}: ${offer.title}`,
    '',
    offer.description,
    '',
    `Example: GET ${exampleUrl(offer, facts)}`,
    `Sample: ${facts.publicUrl}/sample/${offer.id}`,
    '',
    '## Parameters',
    '',
    ...offer.parameters.map(parameterLine),
    '',
    '## Fields',
    '',
    ...fieldLines(offer.outputSchema, ''),
    '',
  ]
}

/** With the default, unless the description states it. */
function parameterLine({ name, description, schema }: OfferedParameter): string {
  const { default: usual } = schema as { readonly default?: unknown }
  const isStated = usual === undefined || /default/i.test(description)
  return `- ${name}: ${description}${isStated ? '' : ` Default ${usual}.`}`
}

/** One line per field, with type and unit; [] marks items of a list. */
function fieldLines(schema: JsonSchema, path: string): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    memberLines(member, path === '' ? name : `${path}.${name}`),
  )
}

function memberLines(schema: JsonSchema, path: string): readonly string[] {
  const words = [typeWords(schema), schema.description].filter(Boolean).join('. ')
  return [`- ${path}: ${words}`, ...innerLines(schema, path)]
}

function innerLines(schema: JsonSchema, path: string): readonly string[] {
  const { items, additionalProperties, anyOf } = schema
  return [
    ...fieldLines(schema, path),
    ...(items === undefined || items === false ? [] : innerLines(items, `${path}[]`)),
    ...(additionalProperties === undefined || additionalProperties === false
      ? []
      : innerLines(additionalProperties, `${path}.*`)),
    ...(anyOf ?? []).flatMap((one) => innerLines(one, path)),
  ]
}

function typeWords({ type, enum: words, const: only, anyOf, 'x-unit': unit }: JsonSchema): string {
  if (only !== undefined) return JSON.stringify(only)
  if (words !== undefined) return words.map((word) => String(word)).join(' | ')
  const types = [type ?? anyOf?.map(typeWords).join(' | ') ?? 'any'].flat()
  const known = types.map((one) => (one === 'null' ? 'null if unknown' : one)).join(', ')
  return typeof unit === 'string' ? `${known}, ${unit}` : known
}

function price(offer: AnalysisOffer, facts: DocumentFacts): string {
  return isFree(facts) ? '' : `, ${offer.priceUsdc} USDC`
}

function exampleUrl(offer: AnalysisOffer, { publicUrl, exampleCoin }: DocumentFacts): string {
  return publicUrl + offer.path.replace('{coin}', exampleCoin)
}

function offersOf(facts: DocumentFacts): readonly AnalysisOffer[] {
  const options = { exampleCoin: facts.exampleCoin, isFree: isFree(facts) }
  return facts.contracts.map((contract) => offerOf(contract, options))
}

function lines(...all: readonly string[]): string {
  return `${all.join('\n').trimEnd()}\n`
}
