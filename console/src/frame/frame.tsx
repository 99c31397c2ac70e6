// The frame around every page: where one is, whether it is live, the palette, the account.
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { Skeleton } from '../parts/feedback/skeleton.tsx'
import { useHasToasts } from '../parts/feedback/notify.ts'
import { AccountButton } from './account-button.tsx'
import { useCrumbs } from './crumbs.ts'
import { Gate } from './gate.tsx'
import { useKeys } from './keys.ts'
import { LiveBadge } from './live-badge.tsx'
import { BottomBar, SideBar } from './nav.tsx'

const KeysSheet = lazy(async () => ({ default: (await import('./keys-sheet.tsx')).KeysSheet }))
const Toasts = lazy(async () => ({ default: (await import('../parts/feedback/toast.tsx')).Toasts }))
const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

export function Frame() {
  const [open, setOpen] = useState<'keys' | 'palette' | null>(null)
  const navigate = useNavigate()
  const close = () => setOpen(null)
  useKeys({
    'mod+k': { about: 'Go to a page, a job, …', run: () => setOpen('palette') },
    '?': { about: 'Show the keys', run: () => setOpen('keys') },
    h: { about: 'Go to the front page', run: () => void navigate({ to: '/' }) },
  })
  return (
    <div className="flex h-dvh min-h-0">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the page
      </a>
      <SideBar />
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar onPalette={() => setOpen('palette')} />
        <Suspense fallback={<Skeleton className="flex-1 p-6" lines={6} />}>
          <Gate>
            <Outlet />
          </Gate>
        </Suspense>
        <BottomBar />
      </div>
      <Suspense fallback={null}>
        {open === 'keys' && <KeysSheet onClose={close} />}
        {open === 'palette' && <Palette onClose={close} />}
        {useHasToasts() && <Toasts />}
      </Suspense>
    </div>
  )
}

function TopBar({ onPalette }: { onPalette: () => void }) {
  return (
    <header className="flex h-12 shrink-0 items-center gap-3 border-b border-line px-4 sm:px-6">
      <Breadcrumbs />
      <div className="ml-auto flex items-center gap-3">
        <LiveBadge />
        <button
          type="button"
          onClick={onPalette}
          className="inline-flex items-center gap-2 rounded-md border border-line px-2 py-1 text-small text-quiet hover:bg-raised hover:text-text max-sm:p-2"
        >
          <Icon name="search" className="size-3.5" />
          <span className="sr-only">Go to</span>
          <kbd className="font-sans max-sm:hidden">{navigator.userAgent.includes('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <AccountButton />
      </div>
    </header>
  )
}

function Breadcrumbs() {
  const crumbs = useCrumbs()
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="flex min-w-0 items-center gap-1.5 text-quiet">
        {crumbs.map(({ label, to }, index) => (
          <li key={`${index} ${label}`} className="flex min-w-0 items-center gap-1.5">
            {index > 0 && <span aria-hidden="true">/</span>}
            {to === undefined ? (
              <span className="max-w-[32ch] truncate text-text" dir="auto">
                {label}
              </span>
            ) : (
              <Link to={to} className="max-w-[24ch] truncate hover:text-text" dir="auto">
                {label}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
