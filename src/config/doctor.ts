import { Option } from 'commander'
import type { ServeOptions } from './serve.ts'
import { serveOptions } from './serve.ts'

export type DoctorOptions = ServeOptions & { readonly json?: true }

/** All of `serve`, so that what is checked is what would run. */
export const doctorOptions: readonly Option[] = [
  ...serveOptions,
  new Option('--json', 'print one JSON report'),
]
