/** Sends an order to the admin port. @returns why it was refused; null if it was accepted */
export async function sendOrder(path: string, body?: unknown): Promise<string | null> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    if (response.ok) return null
    const { detail } = (await response.json()) as { readonly detail?: string }
    return detail ?? `The service answered ${response.status}.`
  } catch {
    return 'The service cannot be reached; nothing is known of the order.'
  }
}
