// The domains that the owner of this deployment is authorised to automate. The list is read for every task and every request of the
// frame and never cached: a domain that is removed is refused at once.
import type { Database, Queryable } from '../../../core/db/database.ts'
import { audit } from '../changes/audit.ts'
import { entriesFor, isReserved } from './domain.ts'

const DOMAINS_MAX = 10_000

const ADD = `
  insert into captcha_domain (domain, reason, added_by) values ($1, $2, $3)
      on conflict (domain) do update set reason = excluded.reason, added_by = excluded.added_by, added_at = clock_timestamp()
  returning domain, reason, added_by, added_at`
const REMOVE = `delete from captcha_domain where domain = $1 returning domain, reason, added_by, added_at`
const LIST = `
  select domain, reason, added_by, added_at from captcha_domain where domain > $1 order by domain limit $2`
const LIST_NAMES = `select domain from captcha_domain order by domain limit ${DOMAINS_MAX}`
const IS_LISTED = `select exists (select from captcha_domain where domain = any ($1)) as listed`

export interface AllowedDomain {
  domain: string
  reason: string
  added_by: string
  added_at: Date
}

/** Adding it again replaces the reason. */
export async function allowDomain(
  database: Database,
  { entry, reason, by }: { entry: string; reason: string; by: string },
): Promise<AllowedDomain> {
  return database.transaction(async (tx) => {
    const [row] = await tx.query<AllowedDomain>(ADD, [entry, reason, by])
    if (row === undefined) throw new Error('The domain was not stored.')
    await audit(tx, { action: 'domain_allowed', actor: by, domain: entry, detail: reason })
    return row
  })
}

/** Null: it was not on the list. */
export async function removeDomain(database: Database, entry: string, by: string): Promise<AllowedDomain | null> {
  return database.transaction(async (tx) => {
    const [row] = await tx.query<AllowedDomain>(REMOVE, [entry])
    if (row === undefined) return null
    await audit(tx, { action: 'domain_removed', actor: by, domain: entry, detail: row.reason })
    return row
  })
}

/** In the order of their names, after `after`. */
export const listDomains = (
  on: Queryable,
  { after, limit }: { after: string; limit: number },
): Promise<AllowedDomain[]> => on.query<AllowedDomain>(LIST, [after, limit])

export const domainNames = async (on: Queryable): Promise<string[]> =>
  (await on.query<{ domain: string }>(LIST_NAMES)).map(({ domain }) => domain)

async function isListed(on: Queryable, domain: string): Promise<boolean> {
  const [row] = await on.query<{ listed: boolean }>(IS_LISTED, [entriesFor(domain)])
  return row?.listed === true
}

/** Reserved names are accepted as tasks and never fetched. */
export const mayBeTask = async (on: Queryable, domain: string): Promise<boolean> =>
  isReserved(domain) || isListed(on, domain)

export const mayBeFetched = async (on: Queryable, domain: string): Promise<boolean> =>
  !isReserved(domain) && (await isListed(on, domain))
