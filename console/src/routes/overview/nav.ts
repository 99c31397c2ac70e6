import type { NavEntry } from '../nav.ts'

export const overviewNav: NavEntry = { to: '/console/overview', label: 'Overview', icon: 'overview', roles: ['ADMIN'] }
