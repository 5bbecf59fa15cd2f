import { offerOf } from './analysis-offer.ts'
import type { DocumentFacts } from './service-facts.ts'
import { isFree, SERVICE_NAME, SERVICE_SUMMARY } from './service-facts.ts'

/** Versions 0.1 and 0.2 of the x402 extension. */
const PAYMENT_EXTENSIONS = [
  'https://github.com/google-a2a/a2a-x402/v0.1',
  'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2',
]

const JSON_MEDIA_TYPE = 'application/json'
/** Text: words such as `pulse BTC`, or JSON. */
const INPUT_MODES = [JSON_MEDIA_TYPE, 'text/plain']

/** `/.well-known/agent-card.json` of A2A 1.0, with the top-level members of 0.3. */
export function agentCard(facts: DocumentFacts): unknown {
  const { publicUrl } = facts
  const url = `${publicUrl}/a2a`
  const binding = 'JSONRPC'
  return {
    name: SERVICE_NAME,
    description: SERVICE_SUMMARY,
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      url,
      protocolBinding: binding,
      protocolVersion,
    })),
    provider: { url: publicUrl, organization: SERVICE_NAME },
    version: facts.version,
    documentationUrl: `${publicUrl}/llms.txt`,
    iconUrl: `${publicUrl}/favicon.svg`,
    capabilities: {
      streaming: false,
      pushNotifications: false,
      extendedAgentCard: false,
      ...(!isFree(facts) && {
        extensions: PAYMENT_EXTENSIONS.map((uri) => ({
          uri,
          description: 'Payment of an analysis in USDC within its task.',
          required: false,
        })),
      }),
    },
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: [JSON_MEDIA_TYPE],
    skills: skills(facts),
    url,
    protocolVersion: '0.3.0',
    preferredTransport: binding,
    additionalInterfaces: [{ url, transport: binding }],
  }
}

function skills(facts: DocumentFacts) {
  const { exampleCoin: coin } = facts
  return facts.contracts.map((contract) => {
    const offer = offerOf(contract, { exampleCoin: coin, isFree: isFree(facts) })
    return {
      id: offer.id,
      name: offer.title,
      description: offer.description,
      tags: ['perpetuals', 'hyperliquid', contract.scope === 'coin' ? 'coin' : 'market'],
      examples:
        contract.scope === 'coin'
          ? [`${offer.id} ${coin}`, JSON.stringify({ analysis: offer.id, coin })]
          : [offer.id, JSON.stringify({ analysis: offer.id })],
      inputModes: INPUT_MODES,
      outputModes: [JSON_MEDIA_TYPE],
    }
  })
}
