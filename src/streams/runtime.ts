import type { Observable, SchedulerLike } from 'rxjs'

/** All nondeterminism of the venue feed: clock, randomness, network. `roles` builds one per thread. */
export type Runtime = {
  /** Clock and timers in one object, so that they agree. */
  readonly scheduler: SchedulerLike
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly connect: Connect
  readonly post: Post
}

/** The same for external sources. */
export type ExternalRuntime = Runtime & {
  readonly get: Get
  readonly follow: Follow
}

/**
 * Opens one websocket. Emits every text frame; `outbound` is subscribed when the socket is open and
 * each of its values is sent. Errors with an OperatingError when the socket fails or closes;
 * unsubscribing closes the socket.
 */
export type Connect = (url: string, outbound: Observable<string>) => Observable<string>

export type HttpReply = { readonly status: number; readonly body: string }

/** One `POST` with a JSON body. Emits the reply with any status; errors when none arrives. */
export type Post = (url: string, body: unknown) => Observable<HttpReply>

export type HttpHeaders = Readonly<Record<string, string>>

/** One `GET`. Emits the reply with any status; errors when none arrives. */
export type Get = (url: string, headers?: HttpHeaders) => Observable<HttpReply>

/**
 * One `GET` whose body does not end: emits its pieces as they come. Errors with an OperatingError, and an
 * {@link HttpStatusError} for any status but 200; completes when the server ends it.
 */
export type Follow = (url: string, headers?: HttpHeaders) => Observable<string>
