import { Link, useLocation } from '@tanstack/react-router'
import icon from '../icon.svg'
import { Icon } from '../parts/icon.tsx'
import { NAV, type NavEntry } from '../routes/nav.ts'
import { useSession } from '../session/session.tsx'

const PHONE_MAX = 5

/** What this account may use, in the order of the table. */
export function useNav(): readonly NavEntry[] {
  const { me, has, isDoorOpen } = useSession()
  return NAV.filter(
    ({ door, roles }) =>
      (door === undefined || isDoorOpen(door)) &&
      (roles === 'anyone' || (me !== null && (roles.length === 0 || has(...roles)))),
  )
}

/** The entry of the page that is shown: of those above it, the nearest. */
function useCurrent(): string | undefined {
  const path = useLocation({ select: ({ pathname }) => pathname })
  const isUnder = (to: string) => path === to || path.startsWith(`${to}/`)
  return NAV.filter(({ to, also = [] }) => isUnder(to) || also.some(isUnder))
    .map(({ to }) => to)
    .toSorted((a, b) => b.length - a.length)[0]
}

/** The router would mark every entry above the page. */
const NOT_BY_ITSELF = { 'aria-current': undefined } as const

export function SideBar() {
  const current = useCurrent()
  return (
    <nav
      aria-label="Pages"
      className="flex w-44 shrink-0 flex-col gap-0.5 border-r border-line p-3 max-sm:hidden lg:w-52"
    >
      <Link to="/" className="mb-3 flex items-center gap-2 rounded-md px-2 py-1 text-lead font-semibold">
        <img src={icon} alt="" className="size-6" />
        Reeve
      </Link>
      {useNav().map((entry) => (
        <NavLink key={entry.to} entry={entry} isCurrent={entry.to === current} />
      ))}
    </nav>
  )
}

function NavLink({ entry: { to, label, icon: name, Count }, isCurrent }: { entry: NavEntry; isCurrent: boolean }) {
  return (
    <Link
      to={to}
      activeProps={NOT_BY_ITSELF}
      aria-current={isCurrent ? 'page' : undefined}
      className={`flex items-center gap-2.5 rounded-md px-2 py-1.5 hover:bg-raised hover:text-text ${isCurrent ? 'bg-accent-soft !text-accent font-medium' : 'text-quiet'}`}
    >
      <Icon name={name} />
      <span className="flex-1">{label}</span>
      {Count !== undefined && <Count />}
    </Link>
  )
}

/** On a phone: at most five. The first is always there, and the rest is in the palette. */
export function BottomBar() {
  const entries = useNav().slice(0, PHONE_MAX)
  const current = useCurrent()
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] sm:hidden"
    >
      {entries.map(({ to, label, icon: name, Count }) => (
        <Link
          key={to}
          to={to}
          activeProps={NOT_BY_ITSELF}
          aria-current={to === current ? 'page' : undefined}
          className={`relative flex min-h-14 flex-1 flex-col items-center justify-center gap-1 text-small ${to === current ? '!text-accent font-medium' : 'text-quiet'}`}
        >
          <Icon name={name} className="size-5" />
          {label}
          {Count !== undefined && (
            <span className="absolute top-1 left-1/2 ml-2">
              <Count />
            </span>
          )}
        </Link>
      ))}
    </nav>
  )
}
