import { problemCodes } from '../../domain/problem.ts'
import { errorGuide } from './error-guide.ts'
import type { AnalysisOffer, OfferedParameter } from './offer-of.ts'
import { offerOf } from './offer-of.ts'
import type { JsonSchema } from './published-schema.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'

/** `/llms.txt`: a title, a line, and lists of links. */
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
    `- [coins](${publicUrl}/coins): what can be asked for now`,
    `- [health](${publicUrl}/health): how the service is`,
    `- [pricing](${publicUrl}/pricing): prices and ways to pay`,
    `- [samples](${publicUrl}/sample/${facts.contracts[0]?.id}): a whole answer of each analysis, at /sample/{analysis}`,
    '',
    '## Documentation',
    '',
    `- [OpenAPI](${publicUrl}/openapi.json): every path, parameter, status, header and field`,
    `- [All of it as text](${publicUrl}/llms-full.txt): with every field and every error`,
    `- [Errors](${publicUrl}/docs/errors): what each code means and what to do`,
    `- [Agent card](${publicUrl}/.well-known/agent-card.json), [payment manifest](${publicUrl}/.well-known/x402)`,
    `- [MCP](${publicUrl}/mcp), [A2A](${publicUrl}/a2a): every analysis as a tool and as a skill, view=compact unless asked for full`,
  )
}

/** `/llms-full.txt`. */
export function llmsFullText(facts: DocumentFacts): string {
  return lines(
    llmsText(facts),
    ...offersOf(facts).flatMap((offer) => analysisText(offer, facts)),
    '# Errors',
    '',
    'Media type application/problem+json. charged says whether a payment was taken, payment_reusable whether the same signed payment can be sent again, retry_after when.',
    '',
    ...problemCodes.map(({ code, status }) => `- ${status} ${code}: ${errorGuide[code].meaning}`),
    '- 402: not paid yet, or a payment was refused; then diagnostics says why.',
  )
}

function howToCall(facts: DocumentFacts): readonly string[] {
  const paying = isFree(facts)
    ? ['- Every answer is free on this service.']
    : [
        '- Call a path: the 402 holds the terms, x402 version 1 in the body and version 2 in PAYMENT-REQUIRED.',
        '- Sign one of them and send the same request with PAYMENT-SIGNATURE (or X-PAYMENT): the answer is 200.',
        '- An error costs nothing. When a connection breaks, send the same payment again: the answer is kept for you.',
        `- Payable by ${facts.waysToPay.map(({ scheme, network }) => `${scheme} on ${network}`).join(', ')}.`,
      ]
  return [
    ...paying,
    '- Every answer has meta.data_age_seconds and meta.quality.grade, A to D. What is not known is null.',
    '- view=compact makes answers short, fields=a,b.c picks members of them.',
    '- A parameter that is not listed is refused (400 unknown_parameter with did_you_mean), not ignored; nothing is quoted.',
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

/** The default where the words do not tell it. */
function parameterLine({ name, description, schema }: OfferedParameter): string {
  const { default: usual } = schema as { readonly default?: unknown }
  const isTold = usual === undefined || /default/i.test(description)
  return `- ${name}: ${description}${isTold ? '' : ` Default ${usual}.`}`
}

/** One line a field, with type and unit; what stands in a list has [] behind its name. */
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
  const known = types.map((one) => (one === 'null' ? 'null where unknown' : one)).join(', ')
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
