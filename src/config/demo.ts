import { Option } from 'commander'

export type DemoOptions = {
  readonly once?: true
  readonly json?: true
}

export const demoOptions: readonly Option[] = [
  new Option('--once', 'exit after the purchases'),
  new Option('--json', 'print one JSON report on standard output, and nothing else there'),
]
