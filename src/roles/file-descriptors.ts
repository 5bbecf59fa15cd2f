/** Whether a failure means that this process, or the machine, can open no more files. */
export function isWithoutDescriptors(cause: unknown): cause is Error & { readonly code: string } {
  return cause instanceof Error && 'code' in cause && /^(EMFILE|ENFILE)$/.test(String(cause.code))
}
