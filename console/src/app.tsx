import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { ErrorBox } from './parts/feedback/error-box.tsx'
import { Skeleton } from './parts/feedback/skeleton.tsx'
import { router } from './routes/table.ts'
import { queries } from './session/client.ts'
import { SessionProvider, useAbout } from './session/session.tsx'

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <Session />
    </QueryClientProvider>
  )
}

function Session() {
  const about = useAbout()
  if (about.data !== undefined) {
    return (
      <SessionProvider about={about.data}>
        <RouterProvider router={router} />
      </SessionProvider>
    )
  }
  return (
    <main className="mx-auto max-w-2xl p-6">
      {about.isError ? (
        <ErrorBox title="The console could not start" error={about.error} onRetry={() => void about.refetch()} />
      ) : (
        <Skeleton />
      )}
    </main>
  )
}
