import type { Role } from '@reeve/sdk'
import { createRootRoute } from '@tanstack/react-router'
import { Frame } from '../frame/frame.tsx'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** Who may see it. A list: one of these roles. */
    access?: 'anyone' | 'account' | readonly Role[]
  }
}

export const rootRoute = createRootRoute({ component: Frame })
