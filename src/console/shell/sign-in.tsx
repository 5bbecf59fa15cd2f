import { useSignal } from '@preact/signals'

/** Whether this port asks for a sign-in first; the public one never does. */
export async function needsSignIn(): Promise<boolean> {
  try {
    const response = await fetch('/session')
    const { required, granted } = (await response.json()) as Partial<Record<string, boolean>>
    return required === true && granted === false
  } catch {
    return false
  }
}

/** Exchanges the admin token for the cookie of a session. The token is not kept in the page. */
export function SignIn() {
  const fault = useSignal<string | null>(null)
  const signIn = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const token = String(new FormData(form).get('token'))
    form.reset()
    try {
      const response = await fetch('/session', {
        ...{ method: 'POST', body: JSON.stringify({ token }) },
        headers: { 'content-type': 'application/json' },
      })
      if (response.ok) location.reload()
      else fault.value = ((await response.json()) as { readonly detail: string }).detail
    } catch {
      fault.value = 'The service cannot be reached.'
    }
  }
  return (
    <main id="content">
      <form class="sign-in" onSubmit={signIn}>
        <h1>Operator's desk</h1>
        <label>
          Admin token
          <input name="token" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="button primary">
          Sign in
        </button>
        <p class="note tone-down" role="alert">
          {fault.value}
        </p>
      </form>
    </main>
  )
}
