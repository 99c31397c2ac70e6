import type { NavEntry } from '../nav.ts'

export const arenaNav: NavEntry = {
  to: '/console/arena',
  label: 'Arena',
  icon: 'arena',
  door: 'arena',
  roles: 'anyone',
  find: async (text) => (await import('./find-player.ts')).findPlayer(text),
}
