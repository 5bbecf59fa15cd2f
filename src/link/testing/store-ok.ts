import type { StoreHealth } from '../../domain/history.ts'

/** What an engine says of a history in which nothing is wrong. */
export const STORE_OK: StoreHealth = {
  state: 'ok',
  reason: null,
  sinceMs: 0,
  droppedRows: 0,
  damagedBlocks: 0,
  setAsideFiles: 0,
}
