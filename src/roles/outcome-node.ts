import type { Logger } from 'pino'

/** A node that is asked what became of payments. */
export type KnownNode = {
  readonly url: string
  /** For logs: the URL of a provider may hold a key. */
  readonly name: string
}

/** A node as it was configured, and the one that stands in for it. */
export type NodeOption = {
  readonly option: string
  readonly url: string | undefined
  readonly publicUrl: string | undefined
}

/** The node of a network: the configured one, else a public one; null where that is turned off, which is told. */
export function knownNode(
  { option, url, publicUrl }: NodeOption,
  outcomeNode: 'on' | 'off',
  log: Logger,
): KnownNode | null {
  if (url !== undefined) return { url, name: `the node at ${option}` }
  if (outcomeNode === 'off' || publicUrl === undefined) {
    log.warn(
      `--outcome-node off and no ${option}: when the reply to a settlement is lost, the buyer has paid and never gets the answer`,
    )
    return null
  }
  log.info(
    `${publicUrl} is asked what became of payments, and nothing else; ${option} names another node`,
  )
  return { url: publicUrl, name: `the public node ${publicUrl}` }
}

/** What it means that it does not answer. */
export function unanswered({ name }: KnownNode, settlesItself: boolean): string {
  return settlesItself
    ? `${name} does not answer; payments fail until it does`
    : `${name} does not answer; until it does, a buyer whose settlement's reply is lost has paid and waits for the answer`
}
