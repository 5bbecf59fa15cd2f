import { CommandLine } from '../../components/command-line.tsx'
import { facts } from '../../live/service.ts'
import { hrefOf } from '../../shell/router.ts'
import { OfferCard } from './offer-card.tsx'
import { SamplePanel } from './sample-panel.tsx'
import { useQuality } from './use-quality.ts'

const scopes = [
  { scope: 'coin', title: 'One coin' },
  { scope: 'market', title: 'The whole market' },
] as const

/** What is sold, for how much, and how good it is now. */
export function Offers() {
  const { offers, sample, coins } = facts()
  const quality = useQuality().value
  const coin = sample?.coin ?? coins[0] ?? 'BTC'
  return (
    <>
      <div class="hero">
        <div class="hero-text">
          <h1>Analytics of every Hyperliquid perpetual, per call</h1>
          <p class="lead">
            Software agents pay {priceRange()} for an answer, over x402: no account, no API key, no
            subscription. Each answer states its age, its coverage and its grade, and errors are not
            charged.
          </p>
          <CommandLine
            label="Try it"
            text={`curl -s ${location.origin}/pulse/${encodeURIComponent(coin)}`}
          />
          <ul class="links">
            <li>
              <a href="/llms.txt">Guide for agents</a>
            </li>
            <li>
              <a href="/docs">API reference</a>
            </li>
            <li>
              <a href="/openapi.json">OpenAPI</a>
            </li>
            <li>
              <a href="/.well-known/agent-card.json">A2A card</a>
            </li>
            <li>
              MCP: <code>{location.origin}/mcp</code>
            </li>
            <li>
              <a href={hrefOf('proof')}>How estimates are measured</a>
            </li>
          </ul>
        </div>
        {sample && <SamplePanel coin={sample.coin} />}
      </div>
      {scopes.map(({ scope, title }) => (
        <section key={scope} aria-labelledby={`offers-${scope}`}>
          <h2 class="section-title" id={`offers-${scope}`}>
            {title}
            {scope === 'coin' && <span> · quality shown for {coin}</span>}
          </h2>
          <ul class="offers">
            {offers
              .filter((offer) => offer.scope === scope)
              .map((offer) => (
                <OfferCard
                  key={offer.id}
                  offer={offer}
                  coin={coin}
                  quality={quality.get(offer.id)}
                />
              ))}
          </ul>
        </section>
      ))}
    </>
  )
}

function priceRange(): string {
  const { offers, payment } = facts()
  if (payment === 'free') return 'nothing'
  const prices = offers.map(({ priceUsdc }) => Number(priceUsdc))
  return `${Math.min(...prices)} to ${Math.max(...prices)} USDC`
}
