// What is known of one thing, as names and values: two pairs a line, one on a phone.
import type { ReactNode } from 'react'

export const Facts = ({ children }: { children: ReactNode }) => (
  <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-6 gap-y-1.5 sm:grid-cols-[max-content_minmax(0,1fr)_max-content_minmax(0,1fr)] [&_dt]:text-quiet">
    {children}
  </dl>
)

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    <dt>{name}</dt>
    <dd className="min-w-0 wrap-anywhere">{children}</dd>
  </>
)
