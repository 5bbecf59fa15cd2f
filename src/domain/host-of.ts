/** The host of a URL, for messages: path, query and user info may hold the key of a provider. '' for no URL. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}
