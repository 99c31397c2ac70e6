import { Pool } from 'pg'
import type { Servers } from '../contestant.ts'

/** A pool whose errors are said and not thrown: a client in use is not covered by the pool's own handler. */
export function openPool(postgres: Servers['postgres'], max: number): Pool {
  const pool = new Pool({ ...postgres, max })
  const complain = (error: Error): void => console.error('PostgreSQL connection:', error.message)
  pool.on('error', complain)
  pool.on('connect', (client) => client.on('error', complain))
  return pool
}
