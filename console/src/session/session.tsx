// Who uses the console, and what this server offers them.
import type { About, Me, Role } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { createContext, use, type ReactNode } from 'react'
import { closeLive } from '../live/live.ts'
import { client, queries } from './client.ts'

const ABOUT = ['about']

export interface Session {
  about: About
  /** Null: nobody is signed in. */
  me: Me | null
  isDoorOpen(door: string): boolean
  /** One of these roles. */
  has(...roles: readonly Role[]): boolean
}

const Context = createContext<Session | null>(null)

export const useAbout = () => useQuery({ queryKey: ABOUT, queryFn: () => client.account.about() })

export function SessionProvider({ about, children }: { about: About; children: ReactNode }) {
  const me = about.account
  const session: Session = {
    about,
    me,
    isDoorOpen: (door) => about.doors.some(({ name, state }) => name === door && state === 'open'),
    has: (...roles) => roles.some((role) => me?.roles.includes(role) === true),
  }
  return <Context value={session}>{children}</Context>
}

export function useSession(): Session {
  const session = use(Context)
  if (session === null) throw new Error('No session around this part.')
  return session
}

/** Throws what the server refused. False: the browser did not keep the session. */
export async function signIn(username: string, password: string): Promise<boolean> {
  await client.account.signIn(username, password)
  return (await startOver()).account !== null
}

export async function signOut(): Promise<void> {
  await client.account.signOut()
  await startOver()
}

/** Nothing of one account is shown to the next. */
export async function startOver(): Promise<About> {
  closeLive()
  const about = await client.account.about()
  queries.setQueryData(ABOUT, about)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ABOUT[0] })
  return about
}
