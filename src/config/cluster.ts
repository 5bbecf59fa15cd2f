import { section, setting } from './option.ts'
import { trimmed } from './values.ts'

/** The part of a service that a process is, and where the parts meet. */
export const clusterSettings = section('Role', {
  role: setting(
    '--role <role>',
    'PERPSCOPE_ROLE',
    "'all' is the whole service in one process; 'gateway' serves and sells the documents of a broker; 'engine' renders " +
      'them for a broker; of several engines one leads and the others stand by',
  )
    .choices(['all', 'gateway', 'engine'])
    .default('all'),
  broker: setting(
    '--broker <url>',
    'PERPSCOPE_BROKER',
    'Valkey 8 or Redis 7 between engine and gateways: valkey:// or redis://, with TLS valkeys:// or rediss://; prefer ' +
      'the variable for a URL with a password, other users can read flags',
  )
    .argParser(trimmed)
    .masked('url'),
})
