import type { NavEntry } from '../nav.ts'

/** For owners of workers. */
export const poolNav: NavEntry = {
  to: '/console/pool',
  label: 'Workers',
  icon: 'pool',
  door: 'pool',
  roles: ['WORKER_OWNER'],
}

/** For clients. */
export const poolJobsNav: NavEntry = {
  to: '/console/pool/jobs',
  label: 'Pool jobs',
  icon: 'jobs',
  door: 'pool',
  roles: ['CLIENT'],
}
