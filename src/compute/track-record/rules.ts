import type { RuleId } from '../../domain/track-record.ts'
import type { Rule } from './rule.ts'
import { cascadeRules } from './rules/cascade.ts'
import { directionRules } from './rules/direction.ts'
import { fundingRules } from './rules/funding.ts'
import { gapRules } from './rules/gap.ts'
import { pegRule } from './rules/peg.ts'
import { regimeRule } from './rules/regime.ts'
import { slippageRule } from './rules/slippage.ts'
import { volatilityRules } from './rules/volatility.ts'
import { zoneRules } from './rules/zone.ts'

/** All rules, in the order in which they make their claims. */
export const rules: readonly Rule[] = [
  ...directionRules,
  ...zoneRules,
  ...cascadeRules,
  ...volatilityRules,
  regimeRule,
  ...fundingRules,
  slippageRule,
  ...gapRules,
  pegRule,
]

const ruleById = new Map<RuleId, Rule>(rules.map((rule) => [rule.id, rule]))

/** @returns undefined for a rule of another version */
export function ruleOf(id: RuleId): Rule | undefined {
  return ruleById.get(id)
}
