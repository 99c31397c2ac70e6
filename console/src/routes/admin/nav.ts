import type { NavEntry } from '../nav.ts'

export const adminNav: NavEntry = { to: '/console/admin', label: 'Admin', icon: 'admin', roles: ['ADMIN'] }
