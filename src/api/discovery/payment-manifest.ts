import type { AnalysisContract } from '../../domain/contract.ts'
import { pathOf } from '../../domain/contract.ts'
import type { AnalysisOffer } from './analysis-offer.ts'
import { answerSchemaName, offerOf } from './analysis-offer.ts'
import type { JsonSchema } from './published-schema.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'

/** Whether an analysis can be sold now, as far as is known. */
export type Available = (contract: AnalysisContract) => boolean

/**
 * `/.well-known/x402`. There is no published standard: indexers read `version` and `resources`, a list of URLs that
 * answer 402; the other members are additions.
 */
export function paymentManifest(facts: DocumentFacts, isAvailable: Available): unknown {
  const offered = facts.contracts.filter(isAvailable)
  const urlOf = (contract: AnalysisContract) =>
    facts.publicUrl + pathOf(contract, facts.exampleCoin)
  const free = isFree(facts)
  const options = { exampleCoin: facts.exampleCoin, isFree: free }
  return {
    version: 1,
    resources: free ? [] : offered.map(urlOf),
    name: SERVICE_NAME,
    description: SERVICE_SUMMARY,
    free,
    x402Versions: free ? [] : [1, 2],
    networks: distinct(facts.waysToPay.map(({ network }) => network)),
    assets: distinct(facts.waysToPay.map(({ asset }) => asset)),
    payTo: distinct(facts.waysToPay.map(({ payTo }) => payTo)),
    ways_to_pay: waysToPay(facts),
    ...(facts.receiptSigner !== undefined && { receipt_signer: facts.receiptSigner }),
    endpoints: offered.map((contract) =>
      endpoint(offerOf(contract, options), urlOf(contract), facts.publicUrl),
    ),
    documents: {
      openapi: `${facts.publicUrl}/openapi.json`,
      prices: `${facts.publicUrl}/pricing`,
      guide: `${facts.publicUrl}/llms.txt`,
    },
    mcp: `${facts.publicUrl}/mcp`,
    a2a: `${facts.publicUrl}/a2a`,
    ...(facts.contactEmail !== undefined && { contact: facts.contactEmail }),
  }
}

function endpoint(offer: AnalysisOffer, url: string, publicUrl: string) {
  return {
    path: offer.template,
    method: 'GET',
    url,
    title: offer.title,
    description: offer.description,
    price_usdc: offer.priceUsdc,
    amount_atomic: offer.priceUsdcAtomic.toString(),
    input: inputOf(offer),
    output: { $ref: `${publicUrl}/openapi.json#/components/schemas/${answerSchemaName(offer)}` },
    sample: `${publicUrl}/sample/${offer.id}`,
  }
}

/** Input schema with the parameter names of the published path. */
function inputOf({ inputSchema, pathParameter }: AnalysisOffer): JsonSchema {
  const named = (name: string) => (name === 'coin' ? pathParameter : name)
  const { properties = {}, required = [], ...rest } = inputSchema
  return {
    ...rest,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [named(name), member]),
    ),
    required: required.map(named),
  }
}

/** `/pricing`. */
export function priceList(facts: DocumentFacts, isAvailable: Available): unknown {
  const options = { exampleCoin: facts.exampleCoin, isFree: isFree(facts) }
  return {
    currency: 'USDC',
    free: isFree(facts),
    prices: facts.contracts.map((contract) => {
      const { id, template, title, priceUsdc, priceUsdcAtomic } = offerOf(contract, options)
      return {
        analysis: id,
        path: template,
        title,
        price_usdc: priceUsdc,
        amount_atomic: priceUsdcAtomic.toString(),
        available: isAvailable(contract),
      }
    }),
    ways_to_pay: waysToPay(facts),
    ...(facts.limits !== undefined && {
      limits: {
        sales_per_wallet_per_minute: facts.limits.salesPerWallet,
        quotes_per_address_per_minute: facts.limits.quotesPerAddress,
      },
    }),
  }
}

function waysToPay(facts: DocumentFacts) {
  return facts.waysToPay.map(({ scheme, network, asset, payTo }) => ({
    scheme,
    network,
    asset,
    pay_to: payTo,
  }))
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)]
}
