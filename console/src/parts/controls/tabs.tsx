import { Link } from '@tanstack/react-router'

interface TabsProps {
  /** What the pages are about: it is read out. */
  label: string
  tabs: readonly { to: string; label: string }[]
}

/** Pages beside each other. Each has its own address. */
export const Tabs = ({ label, tabs }: TabsProps) => (
  <nav aria-label={label} className="mb-4 flex gap-4 border-b border-line">
    {tabs.map(({ to, label: word }) => (
      <Link
        key={to}
        to={to}
        activeOptions={{ exact: true, includeSearch: false }}
        className="-mb-px border-b-2 border-transparent py-2 text-quiet hover:text-text"
        activeProps={{ className: '!border-accent !text-text font-medium', 'aria-current': 'page' }}
      >
        {word}
      </Link>
    ))}
  </nav>
)
