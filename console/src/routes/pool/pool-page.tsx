import { Navigate } from '@tanstack/react-router'
import { useSession } from '../../session/session.tsx'
import { WorkersPage } from './workers/workers-page.tsx'

/** Owners see their own workers; an admin who owns none sees all. */
export function PoolPage() {
  const { has } = useSession()
  return has('WORKER_OWNER') ? <WorkersPage /> : <Navigate to="/console/pool/all" replace />
}
