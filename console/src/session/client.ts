// The one client of the server. The console speaks to it only through the SDK: what a page does, a program can do.
import { ReadsAbandoned, ReeveClient } from '@reeve/sdk'
import { QueryClient } from '@tanstack/react-query'
import { isRefused } from './errors.ts'

/** A connection that has died silently would keep a request waiting for minutes. */
const REQUEST_MS_MAX = 10_000

export const client = new ReeveClient({
  url: location.origin,
  cookie: true,
  timeoutMs: REQUEST_MS_MAX,
  exactNumbers: true,
})

/** What was loaded stays: live messages say what changed, and nothing is asked again by the clock. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (failures, error) => failures < 2 && !isRefused(error),
      retryDelay: (failures, error) => (error instanceof ReadsAbandoned ? 0 : Math.min(1000 * 2 ** failures, 30_000)),
    },
    mutations: { retry: false },
  },
})
