export const ROLES = ['PLAYER', 'CLIENT', 'WORKER_OWNER', 'OPERATOR', 'SCRAPER', 'CHALLENGER', 'ADMIN'] as const

export type Role = (typeof ROLES)[number]

export const isRole = (name: string): name is Role => ROLES.some((role) => role === name)

/** Without duplicates, in a fixed order, and always with PLAYER, which every account has. */
export const withPlayer = (roles: readonly Role[]): Role[] =>
  ROLES.filter((role) => role === 'PLAYER' || roles.includes(role))
