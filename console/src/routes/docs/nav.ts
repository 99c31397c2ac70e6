import type { NavEntry } from '../nav.ts'

export const docsNav: NavEntry = { to: '/console/docs', label: 'Docs', icon: 'docs', roles: 'anyone' }
