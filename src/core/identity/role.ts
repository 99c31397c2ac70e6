export const ROLES = ['PLAYER', 'CLIENT', 'WORKER_OWNER', 'OPERATOR', 'SCRAPER', 'CHALLENGER', 'ADMIN'] as const

export type Role = (typeof ROLES)[number]

export const isRole = (name: string): name is Role => ROLES.some((role) => role === name)

/** Each once, in one order, and PLAYER always: everyone may play and submit code. */
export const withPlayer = (roles: readonly Role[]): Role[] =>
  ROLES.filter((role) => role === 'PLAYER' || roles.includes(role))
