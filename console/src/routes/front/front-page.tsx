import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useNav } from '../../frame/nav.tsx'
import { Page } from '../../frame/page.tsx'
import { SignInForm } from '../../frame/sign-in-form.tsx'
import { buttonClass } from '../../parts/controls/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { useSession } from '../../session/session.tsx'
import { RegisterForm } from './register-form.tsx'
import { isolated } from '../../parts/text/isolated.ts'

// Only those who are signed in need it, and it knows the words of every door.
const OwnWork = lazy(async () => ({ default: (await import('./own-work.tsx')).OwnWork }))

export function FrontPage() {
  const { about, me } = useSession()
  return (
    <Page title={me === null ? 'Reeve' : `Hello, ${isolated(me.username)}`} crumb="Home" tabTitle="Home">
      {me === null && (
        <p className="max-w-[72ch] text-lead text-quiet">
          Hands out work and accepts each result exactly once, whoever does the work.
        </p>
      )}
      {me === null && (
        <div className="mt-8 grid max-w-3xl gap-x-12 gap-y-8 sm:grid-cols-2">
          <section aria-label="Sign in" id="sign-in">
            <h2 className="mb-3 text-lead font-semibold">Sign in</h2>
            <SignInForm />
          </section>
          {about.registration === 'open' && (
            <section aria-label="Register">
              <h2 className="mb-3 text-lead font-semibold">New here?</h2>
              <RegisterForm />
            </section>
          )}
        </div>
      )}
      {me !== null && <Places />}
      {me !== null && (
        <Suspense fallback={<Skeleton lines={4} />}>
          <OwnWork />
        </Suspense>
      )}
      <h2 className="mt-8 mb-3 text-lead font-semibold">Doors</h2>
      <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {about.doors.map(({ name, about: sentence, state }) => (
          <li key={name} className="relative rounded-md border border-line p-4 has-[a:hover]:bg-raised">
            <div className="flex items-center justify-between gap-2">
              <DoorName door={name} />
              <StateBadge
                tone={state === 'open' ? 'good' : 'quiet'}
                word={state === 'open' ? 'Open' : 'Closed'}
                icon={state === 'open' ? 'check' : 'cross'}
              />
            </div>
            <p className="mt-1 text-quiet">{sentence}</p>
          </li>
        ))}
      </ul>
    </Page>
  )
}

/** The way to its page, where this account has one: the whole card is the link. */
function DoorName({ door }: { door: string }) {
  const page = useNav().find((entry) => entry.door === door)
  const name = door.charAt(0).toUpperCase() + door.slice(1)
  if (page === undefined) return <span className="font-medium">{name}</span>
  return (
    <Link to={page.to} className="font-medium text-accent after:absolute after:inset-0 after:rounded-md">
      {name}
    </Link>
  )
}

/** Where this account may go: on a phone, whose bottom bar has room for five. */
function Places() {
  const places = useNav().filter(({ to }) => to !== '/')
  return (
    <nav aria-label="Your pages" className="flex flex-wrap gap-2 sm:hidden">
      {places.map(({ to, label, icon }) => (
        <Link key={to} to={to} className={buttonClass()}>
          <Icon name={icon} /> {label}
        </Link>
      ))}
    </nav>
  )
}
