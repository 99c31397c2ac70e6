// The keys that this deployment signs with. The first process to start makes them; the database keeps them for all.
import { generateKey, parsePrivateKey, type PrivateKey } from '@reeve/sdk/pool'
import type { Database } from '../../../core/db/database.ts'
import { newSecret } from '../../../core/random.ts'

const INSERT = `
  insert into pool_server_keys (name, public_key, secret) values ($1, $2, $3) on conflict (name) do nothing`
const SELECT = `select secret from pool_server_keys where name = $1`

export interface ServerKeys {
  /** Signs receipts. */
  receipts: PrivateKey
  /** Callback secrets are derived from it. */
  callbacks: string
}

export async function openServerKeys(database: Database): Promise<ServerKeys> {
  const fresh = generateKey()
  const receipts = await keep(database, { name: 'receipts', publicKey: fresh.x, secret: JSON.stringify(fresh) })
  const callbacks = await keep(database, { name: 'callbacks', publicKey: '', secret: newSecret() })
  return { receipts: parsePrivateKey(JSON.parse(receipts)), callbacks }
}

/** The stored key: this one, or the one that another process stored first. */
async function keep(database: Database, key: { name: string; publicKey: string; secret: string }): Promise<string> {
  await database.query(INSERT, [key.name, key.publicKey, key.secret])
  const [row] = await database.query<{ secret: string }>(SELECT, [key.name])
  if (row === undefined) throw new Error(`The key ${key.name} was not stored.`)
  return row.secret
}
