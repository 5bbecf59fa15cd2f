import { facts } from '../../live/service.ts'
import { hrefOf } from '../../shell/router.ts'

/** What is sold and for how much. */
export function Offers() {
  const { offers, sample } = facts()
  return (
    <>
      <h1>Analytics of every Hyperliquid perpetual, per call</h1>
      <p class="lead">
        Software agents pay in USDC over x402, without an account.{' '}
        {sample && (
          <>
            <a href={hrefOf('coin', sample.coin)}>{sample.coin}</a> is free to look at,{' '}
            {sample.delaySeconds} seconds late.
          </>
        )}
      </p>
      <section class="scroll" aria-label="Offers" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Call</th>
              <th scope="col" class="text">
                Use it when
              </th>
              <th scope="col">USDC</th>
            </tr>
          </thead>
          <tbody>
            {offers.map(({ id, path, useWhen, priceUsdc }) => (
              <tr key={id}>
                <td>
                  <code>{path}</code>
                </td>
                <td class="text">{useWhen}</td>
                <td>{priceUsdc}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  )
}
