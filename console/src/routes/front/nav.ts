import type { NavEntry } from '../nav.ts'

export const frontNav: NavEntry = { to: '/', label: 'Home', icon: 'home', roles: 'anyone' }
