// What a job queue has to offer to be measured. One file per contestant in `contestants/`, listed in `contestants.ts`.
//
// The producer half runs in the process of the benchmark, the worker half in one child process: the same split for
// all, so that none shares an event loop between the two or avoids the way through its server.

import { Type, type Static } from 'typebox'

/** Where the contestants' servers are. The database is new and empty for every single measurement. */
export const Servers = Type.Object({
  postgres: Type.Object({
    host: Type.String(),
    port: Type.Integer(),
    user: Type.String(),
    database: Type.String(),
  }),
  /** One server, by TCP and by Unix socket (`path`). */
  redis: Type.Object({ host: Type.String(), port: Type.Integer(), path: Type.String() }),
})
export type Servers = Static<typeof Servers>

/** The work of a no-op job: which measurement it belongs to, and which of its jobs it is. */
export interface Payload {
  round: number
  id: number
}

/** What a contestant's handler does with a job's payload, and all it does. */
export type Handle = (payload: unknown) => void

export interface Producer {
  /** Resolves once the job is accepted, in the contestant's own strongest sense. */
  enqueue(payload: Payload): Promise<void>
  /** The contestant's bulk call, with at most `bulk.size` payloads. */
  enqueueMany(payloads: readonly Payload[]): Promise<void>
  /** Whether no job is waiting or running by the contestant's own records, that is: all ends are recorded. */
  settled(): Promise<boolean>
  /** Puts this many finished jobs into the table, quickly. Only who has it is measured for flatness. */
  prefillFinished?(count: number): Promise<void>
  close(): Promise<void>
}

export interface Worker {
  stop(): Promise<void>
}

export interface Contestant {
  /** For `--only`. */
  name: string
  /** For the tables. */
  title: string
  side: 'reeve' | 'peer'
  /** The settings that matter, in one line under the tables. */
  settings: string
  /** The best size of a bulk call and how many of them at a time. */
  bulk: { size: number; lanes: number }
  /** Creates the schema, too; it is called before any worker starts. */
  openProducer(servers: Servers): Promise<Producer>
  /** Resolves once the worker looks for jobs. */
  startWorker(servers: Servers, handle: Handle): Promise<Worker>
}
