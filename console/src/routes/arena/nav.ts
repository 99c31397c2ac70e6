import type { NavEntry } from '../nav.ts'

export const arenaNav: NavEntry = {
  to: '/console/arena',
  label: 'Arena',
  icon: 'arena',
  door: 'arena',
  roles: 'anyone',
}
