import { Link } from '@tanstack/react-router'

const TABS = [
  { to: '/console/admin', label: 'Accounts' },
  { to: '/console/admin/audit', label: 'Audit trail' },
  { to: '/console/admin/health', label: 'Health' },
] as const

export function AdminTabs() {
  return (
    <nav aria-label="Administration" className="mb-4 flex gap-4 border-b border-line">
      {TABS.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: true, includeSearch: false }}
          className="-mb-px border-b-2 border-transparent py-2 text-quiet hover:text-text"
          activeProps={{ className: '!border-accent !text-text font-medium', 'aria-current': 'page' }}
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
