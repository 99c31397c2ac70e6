import type { PrivateKey } from '@reeve/sdk/pool'
import type { Account, Reeve } from './server.ts'

const REGISTERED_AT_ONCE = 50

/** One key for all: making thousands of them is not what is measured. */
export async function registerWorkers(
  reeve: Reeve,
  by: Account,
  key: PrivateKey,
  names: readonly string[],
): Promise<number[]> {
  const ids: number[] = []
  const waiting = [...names]
  const register = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const made = await reeve.http.post<{ id: number }>('/workers/register', { name, public_key: key.x }, { ...by })
      if (made.status !== 201) throw new Error(`register: ${made.status}`)
      ids.push(made.body.id)
    }
  }
  await Promise.all(Array.from({ length: REGISTERED_AT_ONCE }, register))
  return ids
}
