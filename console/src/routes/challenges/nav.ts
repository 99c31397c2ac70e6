import type { NavEntry } from '../nav.ts'

export const challengesNav: NavEntry = {
  to: '/console/challenges',
  label: 'Challenges',
  icon: 'challenge',
  also: ['/console/signature'],
  door: 'challenge',
  roles: ['CHALLENGER', 'ADMIN'],
}
