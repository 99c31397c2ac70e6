// The account in the top bar. Its menu is loaded when it is first opened.
import type { Me } from '@reeve/sdk'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { buttonClass } from '../parts/controls/button.tsx'
import { useSession } from '../session/session.tsx'

const AccountMenu = lazy(async () => ({ default: (await import('./account-menu.tsx')).AccountMenu }))

export const ACCOUNT_CLASS =
  'inline-flex size-8 items-center justify-center rounded-full bg-accent-soft text-small font-semibold text-accent uppercase max-sm:size-10'

export function AccountButton() {
  const { me } = useSession()
  const [isWanted, setWanted] = useState(false)
  if (me === null) {
    return (
      <Link to="/" hash="sign-in" className={buttonClass('plain')}>
        Sign in
      </Link>
    )
  }
  const button = (
    <button type="button" aria-haspopup="menu" className={ACCOUNT_CLASS} onClick={() => setWanted(true)}>
      <AccountName me={me} />
    </button>
  )
  return isWanted ? (
    <Suspense fallback={button}>
      <AccountMenu me={me} />
    </Suspense>
  ) : (
    button
  )
}

export const AccountName = ({ me }: { me: Me }) => (
  <>
    <span aria-hidden="true">{[...me.username].slice(0, 2).join('')}</span>
    <span className="sr-only normal-case">
      Account <bdi>{me.username}</bdi>
    </span>
  </>
)

/** WORKER_OWNER → Worker owner. */
export const roleWord = (role: string): string => role.charAt(0) + role.slice(1).toLowerCase().replaceAll('_', ' ')
