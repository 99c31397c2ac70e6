import type { Database } from '../../src/core/db/database.ts'
import type { BenchAccount } from '../servers/account.ts'
import type { Answered, Ask } from './client.ts'

/** A server with all doors, and who asks it. */
export interface Scene {
  url: string
  folder: string
  database: Database
  /** Has every role. */
  account: BenchAccount
  ask: Ask
}

/** One kind of request of a door. */
export interface Step {
  name: string
  /** Sends the n-th of them and resolves when it has been served: its answer, or what follows from it. */
  send(n: number): Promise<Answered<unknown>>
}

/** The requests of a door in the order in which its users send them: each needs those before it. */
export type Steps = (scene: Scene, count: number) => Promise<Step[]>
