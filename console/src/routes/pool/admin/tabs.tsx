import { Tabs } from '../../../parts/controls/tabs.tsx'
import { useSession } from '../../../session/session.tsx'

const ALL = { to: '/console/pool/all', label: 'All workers' }
const CANARIES = { to: '/console/pool/canaries', label: 'Canaries' }

/** For admins. Owners have one page, and need no tabs. */
export function PoolTabs() {
  const { has } = useSession()
  if (!has('ADMIN')) return null
  const own = has('WORKER_OWNER') ? [{ to: '/console/pool', label: 'Your workers' }] : []
  return <Tabs label="Pool" tabs={[...own, ALL, CANARIES]} />
}
