import type { Logger } from 'pino'
import { ConfigError } from '../config/config-error.ts'
import { reasonOf } from '../domain/errors.ts'
import type { ChainFindings } from '../payment/evm/chain-checks.ts'
import type { ClusterFindings } from '../payment/solana/cluster-checks.ts'

/** A node that is asked for outcomes of payments. */
export type KnownNode = {
  readonly url: string
  /** For logs, because the URL of a provider may contain a key. */
  readonly name: string
}

type NodeFindings = ChainFindings | ClusterFindings

/** The configured node of a network, and the public one that is used without it. */
export type NodeOption = {
  readonly option: string
  readonly url: string | undefined
  readonly publicUrl: string | undefined
}

/** The configured node, otherwise a public one; null, with a warning, if that is turned off. */
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
    `${publicUrl} is asked for outcomes of payments, and for nothing else; ${option} names another node`,
  )
  return { url: publicUrl, name: `the public node ${publicUrl}` }
}

/** The warning for a node that does not answer, or answers with an error. */
export function unanswered(
  { name }: KnownNode,
  settlesItself: boolean,
): (reason: string) => string {
  const effect = settlesItself
    ? 'payments fail until it does'
    : "until it does, a buyer whose settlement's reply is lost has paid and waits for the answer"
  return (reason) => `${name} does not answer as it should (${reason}); ${effect}`
}

/** A node of another chain would make every payment fail, so it refuses the start; one that is down is a warning. */
export async function acceptNode(
  examine: () => Promise<NodeFindings>,
  unreached: (reason: string) => string,
  log: Logger,
): Promise<void> {
  let findings: NodeFindings
  try {
    findings = await examine()
  } catch (err) {
    log.warn({ err }, unreached(reasonOf(err)))
    return
  }
  refuse(findings.faults)
  for (const warning of findings.warnings) log.warn(warning)
}

/** @throws ConfigError if there are faults */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
}
