import { facts } from '../live/service.ts'
import { hrefOf } from '../shell/router.ts'
import { callOf } from '../wallet/call-path.ts'

/** A link to the purchase of one answer. @param name path of its call */
export function OfferButton({ name }: { readonly name: string }) {
  const { analysis } = callOf(name)
  const offer = facts().offers.find(({ id }) => id === analysis)
  if (offer === undefined) return null
  return (
    <a class="button" href={hrefOf('buy', name)}>
      Buy this answer for {offer.priceUsdc} USDC
    </a>
  )
}
