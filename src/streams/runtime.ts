import type { Observable, SchedulerLike } from 'rxjs'

/** Every nondeterminism that a stream may touch. One is built per role, by `roles`. */
export type Runtime = {
  /** Clock and timer at once, so that no second clock can disagree with the timers. */
  readonly scheduler: SchedulerLike
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly connect: Connect
  readonly post: Post
}

/**
 * Opens one websocket. Emits every text frame; `outbound` is subscribed when the socket is open and
 * each of its values is sent. Errors with an OperatingError when the socket fails or closes;
 * unsubscribing closes the socket.
 */
export type Connect = (url: string, outbound: Observable<string>) => Observable<string>

export type HttpReply = { readonly status: number; readonly body: string }

/** One `POST` with a JSON body. Emits the reply whatever its status; errors when none arrives. */
export type Post = (url: string, body: unknown) => Observable<HttpReply>
