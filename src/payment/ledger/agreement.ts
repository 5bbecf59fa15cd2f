/** Settings that all gateways of one ledger share, by their names. */
export type SharedSettings = Readonly<Record<string, string>>

/** A gateway and what it registered. */
export type Gateway = { readonly id: string; readonly settings: SharedSettings }

/** One setting that differs from that of another gateway. */
export type Difference = {
  readonly setting: string
  readonly own: string
  readonly theirs: string
  readonly gateway: string
}

const ABSENT = 'absent'

/** Every setting in which `own` differs from a gateway. */
export function differencesOf(
  own: SharedSettings,
  gateways: readonly Gateway[],
): readonly Difference[] {
  return gateways.flatMap(({ id: gateway, settings }) =>
    [...new Set([...Object.keys(own), ...Object.keys(settings)])]
      .sort()
      .filter((setting) => own[setting] !== settings[setting])
      .map((setting) => ({
        setting,
        own: own[setting] ?? ABSENT,
        theirs: settings[setting] ?? ABSENT,
        gateway,
      })),
  )
}

/** The message of a gateway that must not start. */
export function disagreement(differences: readonly Difference[]): string {
  const lines = differences.map(
    ({ setting, own, theirs, gateway }) =>
      `${setting}: ${own} here, ${theirs} at gateway ${gateway}`,
  )
  return `gateways of one ledger must share these settings:\n${lines.join('\n')}`
}
