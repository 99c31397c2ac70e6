// Every page: its title, the one thing that matters, the next action; and the mark on data that may be old.
import { useEffect, useState, type ReactNode } from 'react'
import { isolated } from '../parts/text/isolated.ts'
import { exact } from '../clock/format.ts'
import { heardAt, useConnection } from '../live/live.ts'
import { Icon } from '../parts/icon.tsx'
import { setCrumbs, type Crumb } from './crumbs.ts'

const PATIENCE_MS = 1500

interface PageProps {
  title: string
  /** In the breadcrumb, where it is another. */
  crumb?: string
  /** Of the browser's tab, where it is another. */
  tabTitle?: string
  /** Beside the title: its state, the one number that matters. */
  aside?: ReactNode
  actions?: ReactNode
  /** Above this page, the outermost first. */
  crumbs?: readonly Crumb[]
  /** The page fills the window and scrolls inside: lists, editors. */
  fills?: boolean
  children: ReactNode
}

export function Page({
  title,
  crumb = title,
  tabTitle = title,
  aside,
  actions,
  crumbs = [],
  fills = false,
  children,
}: PageProps) {
  const trail = JSON.stringify(crumbs)
  useEffect(() => setCrumbs([...JSON.parse(trail), { label: crumb }]), [trail, crumb])
  return (
    <main
      id="main"
      tabIndex={fills ? -1 : 0}
      className={`flex min-h-0 w-full min-w-0 flex-1 flex-col px-4 outline-none sm:px-6 ${fills ? 'overflow-hidden' : 'overflow-y-auto pb-12'}`}
    >
      <title>{`${isolated(tabTitle)} · Reeve`}</title>
      <AsOf />
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 py-4">
        <h1 className="min-w-0 text-title font-semibold" dir="auto">
          {title}
        </h1>
        {aside}
        {actions !== undefined && <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </main>
  )
}

/** What is shown while the connection is lost is marked with the time of which it is. */
function AsOf() {
  const isLost = useConnection() === 'reconnecting'
  const [since, setSince] = useState<string | null>(null)
  useEffect(() => {
    if (!isLost) {
      setSince(null)
      return undefined
    }
    const timer = setTimeout(() => setSince(exact(heardAt()).slice(0, 19)), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isLost])
  if (since === null) return null
  return (
    <p role="status" className="mt-4 flex items-center gap-2 rounded-md bg-warn-bg px-3 py-2 text-warn-fg">
      <Icon name="warn" />
      As of {since}. The connection is lost; the page goes on by itself when it is back.
    </p>
  )
}
