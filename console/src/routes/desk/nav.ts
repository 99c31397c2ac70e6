import type { NavEntry } from '../nav.ts'
import { DeskCount } from './desk-count.tsx'

export const deskNav: NavEntry = {
  to: '/console/desk',
  label: 'Desk',
  icon: 'desk',
  door: 'desk',
  roles: ['OPERATOR', 'ADMIN'],
  Count: DeskCount,
}
