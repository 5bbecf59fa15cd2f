/** What is wrong with `--ledger`. The value is not shown: it may contain a password. */
export function ledgerProblems(ledger: string | undefined): readonly string[] {
  const isUsable =
    ledger === undefined ||
    (URL.canParse(ledger) &&
      /^postgres(ql)?:$/.test(new URL(ledger).protocol) &&
      new URL(ledger).hostname !== '')
  return isUsable
    ? []
    : ['--ledger is not a URL such as postgres://user:password@host:5432/database']
}
