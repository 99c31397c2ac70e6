// Who may see a page. One that needs an account asks for it in place: the address stays, and the page follows the sign-in.
import { useMatches } from '@tanstack/react-router'
import { lazy, type ReactNode } from 'react'
import { Empty } from '../parts/feedback/empty.tsx'
import { useSession } from '../session/session.tsx'
import { Page } from './page.tsx'

const SignInForm = lazy(async () => ({ default: (await import('./sign-in-form.tsx')).SignInForm }))

const NAMES: Readonly<Record<string, string>> = {
  ADMIN: 'administrators',
  OPERATOR: 'operators',
  CLIENT: 'clients of the pool',
  WORKER_OWNER: 'owners of workers',
  CHALLENGER: 'challengers',
  PLAYER: 'players',
  SCRAPER: 'scrapers',
}

export function Gate({ children }: { children: ReactNode }) {
  const { me, has } = useSession()
  const access = useMatches().at(-1)?.staticData.access ?? 'anyone'
  if (access === 'anyone') return children
  if (me === null) {
    return (
      <Page title="Sign in">
        <div className="max-w-sm">
          <SignInForm />
        </div>
      </Page>
    )
  }
  if (access === 'account' || has(...access)) return children
  return (
    <Page title="Not for this account">
      <Empty title={`This page is for ${access.map((role) => NAMES[role] ?? role).join(' and ')}`}>
        You are signed in as <bdi>{me.username}</bdi>. An administrator can give the account another role.
      </Empty>
    </Page>
  )
}
