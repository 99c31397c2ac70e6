// A topic is something that a page watches: the jobs of a list, the events of a task. A connection follows any number of topics
// (live-route.ts). A door declares its own in `Opened.live`.
import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/value'
import type { Account } from '../identity/accounts.ts'
import type { Role } from '../identity/role.ts'
import { refused, type Refused } from '../values/outcome.ts'

/** `id`: what a client names with `since` to go on after this message, where the topic has a log. */
export type SendLive = (type: string, payload: unknown, id?: number) => void

export interface LiveFollow<P = unknown> {
  params: P
  /** The last id that the client has seen. Undefined: from now on. */
  since: number | undefined
  account: Account
  send: SendLive
  /** Resolves when the client has room for more, to false if it has gone. For senders that can wait. */
  room(): Promise<boolean>
}

export type LiveRefusal = 'invalid_params' | 'forbidden' | 'not_found'
export type LiveOpened = { ok: true; close: () => void } | Refused<LiveRefusal>

export interface LiveTopic {
  name: string
  /** One of these is needed. None: any account. */
  roles: readonly Role[]
  open(follow: LiveFollow): Promise<LiveOpened>
}

export interface LiveTopicOptions<S extends TSchema> {
  name: string
  roles: readonly Role[]
  params: S
  open(follow: LiveFollow<Static<S>>): Promise<LiveOpened>
}

/** A topic whose parameters are checked by a schema before it is opened. */
export const liveTopic = <S extends TSchema>({
  name,
  roles,
  params: schema,
  open,
}: LiveTopicOptions<S>): LiveTopic => ({
  name,
  roles,
  open: async (follow) => {
    const { params } = follow
    return Check(schema, params) ? open({ ...follow, params }) : refused('invalid_params')
  },
})
