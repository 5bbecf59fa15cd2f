const MAKE_ROOM =
  'make room: who only looks needs some, too; if there is room, see whether the disk is failing (dmesg, smartctl)'
const OTHER_USER = 'run doctor as the user of the service, or see who may read and write there'
const LINK_TO_NOTHING =
  'it is a link to nothing: bring back what it points at (mount the disk), or take it away'
const MISPLACED = 'see what lies there: a file, a folder or a link is in the place of another'
const HELD = 'ask again, or see which other program has it (fuser)'

/** By the code of what the system or SQLite refused. The file itself may be whole. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR)/, MAKE_ROOM],
  [/^(EACCES|EPERM|EROFS|SQLITE_(CANTOPEN|READONLY|PERM|AUTH))/, OTHER_USER],
  [/^ENOENT/, LINK_TO_NOTHING],
  [/^(ENOTDIR|EISDIR|ELOOP)/, MISPLACED],
  [/^SQLITE_(BUSY|LOCKED)/, HELD],
]

/** What to do where something cannot be looked at; null where what was found there is the trouble. */
export function remedyOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const code = 'code' in error ? String(error.code) : ''
  const known = remedies.find(([codes]) => codes.test(code))
  return known?.[1] ?? remedyOf(error.cause)
}
