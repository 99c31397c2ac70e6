// One secret for both sides, and servers that may call each other on this machine.
import type { PgAt } from './server-process.ts'

export const SECRET = 'bench secret'
export const SOLVER_KEY = { keyId: 'solver-kid-1', secret: SECRET }

export const settingsFor = ({ host, port, user, database }: PgAt, more: Record<string, string> = {}) => ({
  DATABASE_URL: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
  SERVER_PORT: '0',
  LOG_LEVEL: 'warn',
  DOORS: 'challenge',
  SHARED_SECRET_KEY: SECRET,
  ALLOW_INSECURE_CALLBACKS: 'true',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
  REEVE_ADMIN_USERNAME: 'admin',
  REEVE_ADMIN_PASSWORD: 'bench password',
  ...more,
})
