const MAKE_ROOM =
  'free disk space, which reading needs too; if there is space, check the disk for failures (dmesg, smartctl)'
const OTHER_USER = 'run doctor as the user of the service, or check the permissions'
const LINK_TO_NOTHING =
  'it is a dangling link: restore its target (mount the disk), or remove the link'
const MISPLACED = 'check the path: it is a file, a folder or a link where another kind is expected'
const HELD = 'try again, or find the program that holds it (fuser)'

/** Remedies by error code of the system or of SQLite. The file itself may be intact. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR)/, MAKE_ROOM],
  [/^(EACCES|EPERM|EROFS|SQLITE_(CANTOPEN|READONLY|PERM|AUTH))/, OTHER_USER],
  [/^ENOENT/, LINK_TO_NOTHING],
  [/^(ENOTDIR|EISDIR|ELOOP)/, MISPLACED],
  [/^SQLITE_(BUSY|LOCKED)/, HELD],
]

/** The remedy for an error of access; null for an error of content. */
export function remedyOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const code = 'code' in error ? String(error.code) : ''
  const known = remedies.find(([codes]) => codes.test(code))
  return known?.[1] ?? remedyOf(error.cause)
}
