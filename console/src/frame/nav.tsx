import { Link } from '@tanstack/react-router'
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

/** Another entry is below this one: only one of the two is the current page. */
const hasPagesBelow = (to: string): boolean => to === '/' || NAV.some((other) => other.to.startsWith(`${to}/`))

export function SideBar() {
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
        <NavLink key={entry.to} entry={entry} />
      ))}
    </nav>
  )
}

function NavLink({ entry: { to, label, icon: name, Count } }: { entry: NavEntry }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: hasPagesBelow(to) }}
      className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-quiet hover:bg-raised hover:text-text"
      activeProps={{ className: 'bg-accent-soft !text-accent font-medium', 'aria-current': 'page' }}
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
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] sm:hidden"
    >
      {entries.map(({ to, label, icon: name, Count }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: hasPagesBelow(to) }}
          className="relative flex min-h-14 flex-1 flex-col items-center justify-center gap-1 text-small text-quiet"
          activeProps={{ className: '!text-accent font-medium', 'aria-current': 'page' }}
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
