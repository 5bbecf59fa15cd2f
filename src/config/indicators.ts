import { option } from './option.ts'

export type IndicatorsOptions = { readonly gaps: 'refuse' | 'join' }

export const indicatorsOptions = [
  option(
    '--gaps <how>',
    'PERPSCOPE_GAPS',
    'where bars are missing: join computes as if there were none and reports them on standard error, refuse fails',
  )
    .choices(['refuse', 'join'])
    .default('join'),
]
