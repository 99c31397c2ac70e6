import type { NavEntry } from '../nav.ts'

/** For owners of workers, and for admins. */
export const poolNav: NavEntry = {
  to: '/console/pool',
  label: 'Workers',
  icon: 'pool',
  door: 'pool',
  roles: ['WORKER_OWNER', 'ADMIN'],
}

/** For clients. */
export const poolJobsNav: NavEntry = {
  to: '/console/pool/jobs',
  label: 'Pool jobs',
  icon: 'jobs',
  door: 'pool',
  roles: ['CLIENT'],
}
