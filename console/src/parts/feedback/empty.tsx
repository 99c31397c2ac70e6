import type { ReactNode } from 'react'

interface EmptyProps {
  /** What is not there: "No dead jobs". */
  title: string
  /** Why, and what to do. */
  children?: ReactNode
  action?: ReactNode
}

export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="mx-auto flex max-w-[56ch] flex-col items-center gap-2 px-4 py-12 text-center">
      <p className="text-lead font-medium">{title}</p>
      {children !== undefined && <div className="text-quiet">{children}</div>}
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  )
}
