import type { RuleId } from '../../domain/track-record.ts'
import type { Rule } from './rule.ts'
import { cascadeScoreRule } from './rules/cascade.ts'
import { directionRules } from './rules/direction.ts'
import { fundingRule } from './rules/funding.ts'
import { volatilityRule } from './rules/volatility.ts'
import { zoneRules } from './rules/zone.ts'

/** All rules, in the order in which they make their claims. */
export const rules: readonly Rule[] = [
  ...directionRules,
  ...zoneRules,
  cascadeScoreRule,
  volatilityRule,
  fundingRule,
]

const ruleById = new Map<RuleId, Rule>(rules.map((rule) => [rule.id, rule]))

/** @returns undefined for a rule of another version */
export function ruleOf(id: RuleId): Rule | undefined {
  return ruleById.get(id)
}
