import type { ValuesOf } from './option.ts'
import { optionsOf, setting } from './option.ts'

const settings = {
  gaps: setting(
    '--gaps <how>',
    'PERPSCOPE_GAPS',
    'missing bars: join computes without them and reports them on standard error, refuse fails',
  )
    .choices(['refuse', 'join'])
    .default('join'),
}

export type IndicatorsOptions = ValuesOf<typeof settings>

export const indicatorsOptions = optionsOf(settings)
